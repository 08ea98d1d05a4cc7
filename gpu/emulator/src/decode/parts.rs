//! The parts of an opcode.

/// Parts of the opcode after the mnemonic that no rule has taken yet. Not a vector, because every
/// statement has some and none has many.
pub(super) struct Parts<'a> {
    pub(super) all: [&'a str; 12],
    pub(super) count: usize,
    /// There were more, which no rule can take.
    more: bool,
}

/// What stands before the first dot, and what after it.
fn part(opcode: &str) -> (&str, Option<&str>) {
    opcode.split_once('.').map_or((opcode, None), |(part, rest)| (part, Some(rest)))
}

impl<'a> Parts<'a> {
    /// The mnemonic, and the parts after it.
    pub(super) fn split(opcode: &'a str) -> (&'a str, Self) {
        let (mut all, mut count) = ([""; 12], 0);
        let (mnemonic, mut rest) = part(opcode);
        while let Some(after) = rest
            && count < all.len()
        {
            (all[count], rest) = part(after);
            count += 1;
        }
        (mnemonic, Self { all, count, more: rest.is_some() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && !self.more
    }

    pub(super) fn as_slice(&self) -> &[&'a str] {
        &self.all[..self.count]
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.all.copy_within(at + 1..self.count, at);
        self.count -= 1;
    }

    pub(super) fn pop(&mut self) -> Option<&'a str> {
        self.count = self.count.checked_sub(1)?;
        Some(self.all[self.count])
    }
}
