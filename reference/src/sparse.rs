//! Sparse convolution: sites, the kernel map by its plain definition, and the three sums over its pairs.
//!
//! A *site* is a batch and three coordinates. The *kernel map* is the set of triples (k, i, o): offset k of the
//! kernel takes the row i of the input to the row o of the output. As in spconv (Yan, Mao and Li, "SECOND: Sparsely
//! Embedded Convolutional Detection", Sensors 18(10), 2018), on every axis
//!
//! input = output stride - padding + k dilation, k = 0 to size - 1,
//!
//! and the batches are equal. Offsets are numbered in C order, the last axis fastest. A *transposed* convolution
//! exchanges input and output in this equation. A *submanifold* convolution (Graham, Engelcke and van der Maaten,
//! arXiv 1711.10275) has the input's sites as its output's. Otherwise the output's sites are given, or are all that
//! a pair reaches. Minuet (arXiv 2401.06145, section 2) and `TorchSparse` (arXiv 2204.10319, section 2) define the
//! map by the same equation; their offsets of odd kernels are centred, which is a padding of (size - 1) / 2 dilation.
//!
//! With features f `[N,Ci]`, weights W `[K,Ci,Co]` and the gradient v `[M,Co]` of the output:
//!
//! - out\[o\] = the sum over (k, i, o) of f\[i\] W\[k\]
//! - `v_feats`\[i\] = the sum over (k, i, o) of v\[o\] W\[k\]^T
//! - `v_weights`\[k\] = the sum over (k, i, o) of f\[i\]^T v\[o\]

mod kernel;
mod map;
mod products;

pub use kernel::{Kernel, Refused};
pub use map::{KernelMap, Site, kernel_map};
pub use products::{Layer, Products};

#[cfg(test)]
mod tests;
