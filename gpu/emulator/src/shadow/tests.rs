//! Kernels whose shadows are known.

mod atomics;
mod bits;
mod conventions;
mod decisions;
mod doubles;
mod elements;
mod extremes;
mod functions;
mod gradients;
mod integers;
mod kinks;
mod openness;
mod parts;
mod places;
mod run;
mod signs;
