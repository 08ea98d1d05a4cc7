//! Is a backward kernel the transposed Jacobian of its forward kernel? Nobody tells the program the
//! mathematics: the emulator executes the forward kernel in real arithmetic beside f32
//! (`splatcheck_emulator::Shadowing`), keeps a tape, and a sweep over it gives the derivatives that the
//! backward kernel must return.
//!
//! A [`Manifest`] says what the arrays of a pair of kernels are, how they are drawn and how the kernels are
//! launched; a [`Case`] is one draw; [`check`] runs both kernels on it and compares. [`compare`] asks whether
//! two programs compute the same numbers, [`accuracy`] how far one is from its own exact values.
//!
//! What is compared is mathematics, not floats: the value that the backward kernel's operations have in real
//! arithmetic, against the derivative, each with the distance by which it is uncertain (rounded literals,
//! approximated functions, 2^-53 for every operation of the shadow). So a missing term of a millionth is seen,
//! and a right kernel that rounds badly is not accused.

mod accuracy;
mod compare;
mod compared;
mod draw;
mod dtype;
mod forward;
mod furthest;
mod given;
mod judge;
mod kinks;
mod launch;
mod manifest;
mod npz;
mod program;
mod purpose;
mod shrink;
mod stages;

pub use accuracy::{accuracy, rounded_by};
pub use compare::{compare, compare_all};
pub use draw::{Array, Case, CaseProblem};
pub use dtype::{Dtype, Values, Whole};
pub use furthest::Furthest;
pub use judge::{Checked, Judged, check, exact_arrays};
pub use launch::Traffic;
pub use manifest::{
    Begins, Draw, Input, Launch, Manifest, Number, Output, Parameter, Size, Structure, Sweep,
};
pub use program::{Program, ProgramError};
pub use purpose::{Convention, Purpose, on_purpose};
pub use shrink::smaller;
pub use splatcheck_emulator::Touched;
pub use splatcheck_gpu::emulator::forward_of;
pub use splatcheck_judge::attribution::{Element, Explained, file_and_line};
pub use stages::{check_stages, check_stages_as_clamped, compare_stages};
