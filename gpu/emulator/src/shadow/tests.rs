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
mod hosts;
mod integers;
mod kinks;
mod openness;
mod parts;
mod places;
mod run;
mod signs;
