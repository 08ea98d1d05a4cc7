//! A scalar as a row of one lane: its mask is a `bool`.

/// What is the same for every scalar in its `impl` of [`Lanes`](super::Lanes): all but `abs` and
/// `lt`, which look at the number.
macro_rules! one_lane {
    () => {
        type Elem = Self;
        type Mask = bool;
        const LANES: usize = 1;

        #[inline(always)]
        fn splat(self, x: Self) -> Self {
            x
        }

        #[inline(always)]
        fn load(self, from: &[Self]) -> Self {
            from[0]
        }

        #[inline(always)]
        fn store(self, to: &mut [Self]) {
            to[0] = self;
        }

        #[inline(always)]
        fn and(self, a: bool, b: bool) -> bool {
            a & b
        }

        #[inline(always)]
        fn not(self, a: bool) -> bool {
            !a
        }

        #[inline(always)]
        fn any(self, a: bool) -> bool {
            a
        }

        #[inline(always)]
        fn or_else(self, mask: bool, other: Self) -> Self {
            if mask { self } else { other }
        }
    };
}

pub(super) use one_lane;
