//! The whole-program tests: one program, a module for each subject.

// The kernel of the example in Rust, as its own gate names it.
extern crate self as my_kernel;

#[cfg(target_os = "linux")]
mod action;
#[cfg(target_os = "linux")]
mod attack;
mod bad_apple;
mod chain;
mod checkout;
mod command;
mod command_protocol;
mod corpora;
mod coverage;
mod dealing;
mod diagnosis;
mod doctor;
mod doors;
mod endless;
mod exit_codes;
mod formulations;
mod fuzzing;
mod gallery;
mod gate;
mod generated;
mod gradcheck;
mod grid;
#[cfg(unix)]
mod interrupted;
mod jobs;
mod judging;
mod killed;
mod layering;
mod limits;
mod manifest;
mod manifest_examples;
mod manifest_files;
mod manifest_halves;
mod manifest_production;
mod manifest_stages;
mod manifest_tiles;
mod manifest_views;
mod merging;
mod mutants;
mod neighbours;
mod nvcc;
mod oracle;
mod packages;
#[cfg(unix)]
mod pages;
mod parts;
mod ports;
mod ptx;
mod python;
mod report;
mod robust;
mod rust_kernel;
mod scenes;
#[cfg(target_os = "linux")]
mod small_files;
mod sparse;
mod stopped;
#[cfg(target_os = "linux")]
mod surroundings;
mod sweep;
mod threads;
mod traffic;
mod train;
mod wgsl;
mod wording;
mod workflows;
mod workloads;

pub use rust_kernel::{Gaussians, Image, Rules, rasterize_backward};
