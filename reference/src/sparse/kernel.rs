//! The geometry of a kernel.

/// Why there is no kernel map: a field, what it holds, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}: {advice}")]
pub struct Refused {
    /// Which field, with its row where it has rows.
    pub field: String,
    /// What it holds.
    pub value: String,
    /// What would be accepted.
    pub advice: String,
}

impl Refused {
    pub(super) fn new(field: &str, value: impl ToString, advice: impl Into<String>) -> Self {
        Self { field: field.to_owned(), value: value.to_string(), advice: advice.into() }
    }
}

/// The kernel of a layer, an axis at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Offsets on each axis, at least 1.
    pub size: [u16; 3],
    /// Steps from an output to the next, in units of the input; at least 1.
    pub stride: [u16; 3],
    /// How far before the output's site the first offset lies.
    pub padding: [u16; 3],
    /// Steps from an offset to the next, at least 1.
    pub dilation: [u16; 3],
    /// Whether input and output exchange their roles.
    pub transposed: bool,
    /// Whether the output has the input's sites.
    pub submanifold: bool,
}

impl Kernel {
    /// Checks the fields.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub fn check(&self) -> Result<(), Refused> {
        for (field, numbers) in
            [("kernel_size", self.size), ("stride", self.stride), ("dilation", self.dilation)]
        {
            if numbers.contains(&0) {
                return Err(Refused::new(field, listed(numbers), "each is 1 or more"));
            }
        }
        if !self.submanifold {
            return Ok(());
        }
        let refused = |field, value: String, advice: &str| {
            Err(Refused::new(field, value, format!("with submanifold {advice}")))
        };
        if self.transposed {
            return refused("transposed", "true".to_owned(), "it must be false");
        }
        if self.size.iter().any(|size| size % 2 == 0) {
            return refused("kernel_size", listed(self.size), "each is odd");
        }
        if self.stride != [1; 3] {
            return refused("stride", listed(self.stride), "it must be 1,1,1");
        }
        let centred: [u32; 3] =
            std::array::from_fn(|a| u32::from(self.size[a] / 2) * u32::from(self.dilation[a]));
        if self.padding.map(u32::from) != centred {
            let advice = format!("it must be (kernel_size - 1) / 2 dilation, {}", listed(centred));
            return refused("padding", listed(self.padding), &advice);
        }
        Ok(())
    }

    /// K, the number of offsets.
    #[must_use]
    pub fn offsets(&self) -> u64 {
        self.size.iter().map(|&size| u64::from(size)).product()
    }

    /// Where offset k looks from a query, in 64 bits: query stride - padding + k dilation. It leads from an output to
    /// its input, or, transposed, from an input to its output.
    #[must_use]
    pub fn source(&self, k: u64, &[batch, axes @ ..]: &[i64; 4]) -> [i64; 4] {
        let shift = self.shift(k);
        let at = |a: usize| axes[a] * i64::from(self.stride[a]) + shift[a];
        [batch, at(0), at(1), at(2)]
    }

    /// What offset k adds to an output's site times stride: k dilation - padding.
    pub(super) fn shift(&self, k: u64) -> [i64; 3] {
        let [_, y, z] = self.size.map(u64::from);
        let steps = [k / (y * z), k / z % y, k % z];
        std::array::from_fn(|a| {
            steps[a].cast_signed() * i64::from(self.dilation[a]) - i64::from(self.padding[a])
        })
    }
}

/// The three numbers as the metadata have them.
fn listed<T: ToString>(numbers: [T; 3]) -> String {
    numbers.map(|n| n.to_string()).join(",")
}
