//! Judges GPU kernels against an oracle within derived tolerances.
//!
//! A kernel in Rust is judged by your own tests: [`kernel`]. Everything else is the command `splatcheck`
//! ([`cli`]), and may change with every version.
//!
//! A *workload* is a family of stages that belong together: its cases, how they are drawn, read and made
//! smaller, what goes into its stages and what a conforming kernel may return. The workloads are the crate
//! `splatcheck-workloads`. What runs and judges them is `splatcheck-judge`, which knows no workload but
//! through its trait, and no stage but through the tables of `splatcheck_gpu::stages`.
//!
//! The way of a case: it is read or drawn by its workload, which computes every stage's inputs once, in f32,
//! for device and oracle alike (a `Job`); an engine in a process of its own runs the kernels; the judge
//! compares every output element with the oracle's bound, which for sums is completed by the order of
//! summation; a campaign does that for many cases on many engines, a report says what was found, and a gate
//! what a build must stop on.
//!
//! Here are the kernels of users: a [`user_kernel`] has the interface of ours, one with parameters of its own
//! comes with a launch [`manifest`], in WGSL it is a [`user_wgsl`], and [`nvcc`]
//! compiles one in CUDA. [`mutants`] judges the judges, [`sweep`]
//! shows which threshold is best, [`acceptance`] is everything that a machine with a GPU allows, [`emulated`]
//! runs again what failed on the emulator.
//!
//! Vocabulary: a *case* is a scene with its convention and purpose; a *corpus* is a folder of named cases; a
//! *verdict* is agree, disagree, inconclusive or not exercised; a *reproducer* is a case file that also
//! records engine, stage and setting.
#![forbid(unsafe_code)]

pub mod acceptance;
pub mod cli;
pub mod cpp_names;
pub mod emulated;
pub mod gallery;
pub mod gradcheck;
pub mod kernel;
pub mod manifest;
pub mod misuse;
pub mod mutants;
pub mod nvcc;
pub mod sweep;
pub mod user_kernel;
pub mod user_wgsl;
