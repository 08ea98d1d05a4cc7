//! Work that is granted by counting it. What stops by a clock comes out differently on every machine, and a
//! campaign's result must not: its parts are joined byte for byte.

/// What is left of a grant, in words: numbers that an engine gets, and lanes that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkBudget {
    left: usize,
}

impl Default for WorkBudget {
    /// 16 million words: thousands of attempts on a case of a few tiles, some twenty on a list of 65,536.
    fn default() -> Self {
        Self::of(16 << 20)
    }
}

impl WorkBudget {
    /// A grant of so many words.
    #[must_use]
    pub fn of(words: usize) -> Self {
        Self { left: words }
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Takes what an attempt costs, one word at least; whether there was anything left. The last attempt may
    /// cost more than that.
    pub fn spend(&mut self, words: usize) -> bool {
        let had = !self.is_spent();
        self.left = self.left.saturating_sub(words.max(1));
        had
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_ends_after_as_many_attempts_everywhere() {
        let mut effort = WorkBudget::of(10);
        let attempts = std::iter::repeat_with(|| effort.spend(4)).take_while(|&had| had).count();
        assert_eq!(attempts, 3, "4, 8, and the one that takes the rest");
        let mut free = WorkBudget::of(2);
        assert!(free.spend(0) && free.spend(0) && !free.spend(0), "nothing costs nothing");
        assert!(!WorkBudget::of(0).spend(1), "no grant");
    }
}
