//! How arrays lie in the buffers of a kernel.
//!
//! A buffer holds one array, or several whose first dimensions are the same: then row by row, the
//! numbers of one row of each array beside each other. Kernels so read what belongs together from one
//! place, and keep within the 8 storage buffers that every WebGPU device binds.

use super::{Dim, Port, Role, Sizes};
use crate::tensor::{Data, ShapeError, Tensor, TensorError, Tensors};
use std::borrow::Cow;

/// The buffers of a kernel: first those that are read, then those that are written or added to.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// They hold the stage's inputs.
    pub inputs: &'static [Buffer],
    /// They hold its outputs.
    pub outputs: &'static [Buffer],
}

/// A buffer of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The name of the variable in the kernel.
    pub name: &'static str,
    /// The arrays in it, by the names of their ports: all read, all written or all added to.
    pub ports: &'static [&'static str],
    /// The type of its elements in WGSL.
    pub element: &'static str,
}

impl Buffer {
    /// A buffer of floats.
    #[must_use]
    pub const fn f32(name: &'static str, ports: &'static [&'static str]) -> Self {
        Self { name, ports, element: "f32" }
    }

    /// A buffer that holds one array and has its name.
    #[must_use]
    pub const fn of(port: &'static [&'static str; 1], element: &'static str) -> Self {
        Self { name: port[0], ports: port, element }
    }

    /// What the stage does with it. `ports` are the stage's inputs or outputs, whichever it holds.
    #[must_use]
    pub fn role(&self, ports: &[Port]) -> Role {
        port(ports, self.ports[0]).role
    }

    /// Words of the whole buffer.
    #[must_use]
    pub fn words(&self, ports: &[Port], sizes: &Sizes) -> usize {
        let words = self.ports.iter().map(|name| port(ports, name).words(sizes));
        words.fold(0, usize::saturating_add)
    }

    /// Rows, and the words of a row that belong to each array.
    fn rows(&self, ports: &[Port], sizes: &Sizes) -> (usize, Vec<usize>) {
        let held: Vec<&Port> = self.ports.iter().map(|name| port(ports, name)).collect();
        let first = held[0].shape;
        let shared =
            |depth: usize| held.iter().all(|port| port.shape.get(depth) == first.get(depth));
        let prefix = (0..first.len())
            .take_while(|&depth| shared(depth) && matches!(first[depth], Dim::Symbol(_)));
        let rows = prefix.fold(1, |rows, depth| match first[depth] {
            Dim::Symbol(symbol) => rows * sizes.get(symbol),
            Dim::Const(_) | Dim::OneMore(_) | Dim::Optional(_) => rows,
        });
        let width = |port: &&Port| port.words(sizes).checked_div(rows).unwrap_or(0);
        (rows, held.iter().map(width).collect())
    }

    /// Its arrays, each with the words of the buffer that its elements are.
    #[must_use]
    pub fn elements(&self, ports: &[Port], sizes: &Sizes) -> Vec<(&'static str, Vec<usize>)> {
        let (rows, widths) = self.rows(ports, sizes);
        let stride: usize = widths.iter().sum();
        let mut at = 0;
        let mut all = Vec::with_capacity(widths.len());
        for (&name, &width) in self.ports.iter().zip(&widths) {
            let row = |row: usize| (0..width).map(move |column| row * stride + at + column);
            all.push((name, (0..rows).flat_map(row).collect()));
            at += width;
        }
        all
    }

    /// The buffer's words, from a job's arrays.
    ///
    /// # Errors
    /// [`TensorError::Missing`]; the arrays must have the shapes that `sizes` were taken from.
    pub fn pack<'t>(
        &self,
        ports: &[Port],
        sizes: &Sizes,
        tensors: &'t Tensors,
    ) -> Result<Cow<'t, [u32]>, TensorError> {
        if let [only] = self.ports {
            return Ok(Cow::Borrowed(tensors.get(only)?.words()));
        }
        let (rows, widths) = self.rows(ports, sizes);
        let mut packed = vec![0; self.words(ports, sizes)];
        let stride: usize = widths.iter().sum();
        let mut at = 0;
        for (name, &width) in self.ports.iter().zip(&widths) {
            let words = tensors.get(name)?.words();
            for row in 0..rows {
                packed[row * stride + at..][..width]
                    .copy_from_slice(&words[row * width..][..width]);
            }
            at += width;
        }
        Ok(Cow::Owned(packed))
    }

    /// Takes the buffer's words apart and adds its arrays to `outputs`.
    ///
    /// # Errors
    /// [`ShapeError`] where there are more or fewer words than the sizes say.
    pub fn unpack(
        &self,
        ports: &[Port],
        sizes: &Sizes,
        words: &[u32],
        outputs: &mut Tensors,
    ) -> Result<(), ShapeError> {
        let expected = self.words(ports, sizes);
        if words.len() != expected {
            let (name, found) = (self.name.to_owned(), words.len());
            return Err(ShapeError { name, found, expected, shape: vec![expected] });
        }
        let (rows, widths) = self.rows(ports, sizes);
        let stride: usize = widths.iter().sum();
        let mut at = 0;
        for (name, &width) in self.ports.iter().zip(&widths) {
            let port = port(ports, name);
            let column: Cow<'_, [u32]> = if self.ports.len() == 1 {
                Cow::Borrowed(words)
            } else {
                let row = |row: usize| &words[row * stride + at..][..width];
                Cow::Owned((0..rows).flat_map(row).copied().collect())
            };
            let data = Data::from_words(port.dtype, &column);
            outputs.insert(port.name, Tensor::new(name, port.shape_for(sizes), data)?);
            at += width;
        }
        Ok(())
    }
}

/// The port of that name.
///
/// # Panics
/// For a name that is not there: a test looks up every name that a table holds.
fn port<'p>(ports: &'p [Port], name: &str) -> &'p Port {
    let found = ports.iter().find(|port| port.name == name);
    found.unwrap_or_else(|| panic!("the stage's table has no array {name}"))
}
