//! The harness: judges GPU kernels against an oracle within derived tolerances.
//!
//! A *workload* is a family of stages that belong together, and a folder of [`workloads`]: its cases,
//! how they are drawn, read and made smaller, what goes into its stages and what a conforming kernel
//! may return. Everything else knows no workload but through [`workload`], and no stage but through
//! the tables of `splatcheck_gpu::stages`.
//!
//! The way of a case: it is read or drawn by its workload, which computes every stage's inputs once,
//! in f32, for device and oracle alike (a [`workload::Job`]); an engine in a process of its own
//! ([`engines`]) runs the kernels; [`judge`] compares every output element with the oracle's bound,
//! which for sums [`judge::tolerance`] completes by the order of summation; [`campaign`] does that for
//! many cases on many engines, and [`report`] says what was found, [`gate`] what a build must stop on.
//! [`scatter_step`] shows which lanes add to which number, from which [`traffic`] and [`coverage`]
//! follow; [`case_space`] shows what cases have among them, [`kernel_coverage`] what they reach of the
//! kernels' own instructions. [`diagnosis`] says what a kernel that disagrees may have got wrong.
//! [`mutants`] judges the judges; [`train`] shows what gradients come to in training. A kernel of the
//! user's own is a [`user_kernel`]; with parameters of its own it comes with a launch [`manifest`]; one in
//! Rust is judged by its own tests ([`kernel`]). [`presets`] say what public projects' kernels look like, by
//! the words of [`layout`]. [`cli`] is the command `splatcheck`, which nothing imports.
//!
//! Vocabulary: a *case* is a scene with its convention and purpose; a *corpus* is a folder of named
//! cases; a *verdict* is agree, disagree, inconclusive or not exercised ([`verdict`]); a
//! *reproducer* is a case file that also records engine, stage and setting.
#![forbid(unsafe_code)]

pub mod acceptance;
pub mod campaign;
pub mod case_space;
pub mod cli;
pub mod coverage;
mod covering;
pub mod diagnosis;
mod dice;
pub mod effort;
pub mod emulated;
pub mod engines;
pub mod fuzz;
pub mod gate;
pub mod io;
pub mod judge;
pub mod kernel;
pub mod kernel_coverage;
pub mod layout;
pub mod manifest;
pub mod minimize;
pub mod mutants;
pub mod presets;
pub mod report;
pub mod scatter_step;
pub mod sweep;
pub mod table;
pub mod threads;
pub mod traffic;
pub mod train;
pub mod user_kernel;
pub mod user_wgsl;
pub mod verdict;
mod words;
pub mod workload;
pub mod workloads;
