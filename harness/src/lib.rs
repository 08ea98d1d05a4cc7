//! The harness: judges splat kernels against the oracle within derived tolerances.
//!
//! The way of a case: a [case](workloads::splat::case) is read ([`io`]) or drawn ([drawn](workloads::splat::generators)); [`stage`](workloads::splat::stage) computes every
//! stage's inputs once, in f32, for device and oracle alike; an engine in a process of its
//! own ([`engines`]) runs the kernels; [`expectation`](workloads::splat::expectation) compares every output element with the oracle's
//! bound, which for sums [`tolerance`] completes by the order of summation; [`campaign`] does that
//! for many cases on many engines, [`minimize`](workloads::splat::minimize) makes what failed small, and [`report`] says what
//! was found, [`gate`] what a build must stop on. [`mutants`] judges the judges. [`cli`] is the command
//! `splatcheck`.
//!
//! Vocabulary: a *case* is a scene with its convention and purpose; a *corpus* is a folder of named
//! cases; a *verdict* is agree, disagree, inconclusive or not exercised ([`verdict`]); a
//! *reproducer* is a case file that also records engine, stage and setting.
#![forbid(unsafe_code)]

pub mod acceptance;
pub mod campaign;
pub mod cli;
pub mod coverage;
pub mod emulated;
pub mod engines;
pub mod fuzz;
pub mod gate;
pub mod io;
pub mod judge;
pub mod mutants;
pub mod report;
pub mod scatter_step;
pub mod table;
pub mod traffic;
pub mod verdict;
pub mod workload;
pub mod workloads;
