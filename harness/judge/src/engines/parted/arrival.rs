//! In which order an all-reduce adds up the parts of an array. The numbers decide, so that a run has the same order
//! on every machine, and the runs of a campaign have all orders.

use crate::case_rng::CaseRng;

/// An order of additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// A ring: the array is cut into as many pieces as there are parts, and the sum of each piece begins at
    /// another part and goes round.
    Ring,
    /// A tree: each half of the parts is added up by itself.
    Tree,
    /// One part after another, as they arrive at a server.
    OneByOne,
}

/// The parts of an array added up.
pub(super) fn added(parts: &[&[f32]]) -> Vec<f32> {
    let bits = parts.iter().copied().flatten().map(|value| u64::from(value.to_bits()));
    let mut rng = CaseRng::new(bits.fold(0, u64::wrapping_add), 0);
    let arrival = [Arrival::Ring, Arrival::Tree, Arrival::OneByOne][rng.below(3) as usize];
    let mut parts = parts.to_vec();
    rng.shuffle(&mut parts);
    in_order(arrival, &parts)
}

fn in_order(arrival: Arrival, parts: &[&[f32]]) -> Vec<f32> {
    let (count, length) = (parts.len(), parts[0].len());
    let sum = |place: usize| {
        let of = |part: usize| parts[part % count][place];
        match arrival {
            Arrival::Ring => {
                let begin = place * count / length;
                (begin + 1..begin + count).fold(of(begin), |sum, part| sum + of(part))
            }
            Arrival::Tree => tree(&of, 0, count),
            Arrival::OneByOne => (1..count).fold(of(0), |sum, part| sum + of(part)),
        }
    };
    (0..length).map(sum).collect()
}

/// The sum of `count` parts from `first` on, half by half.
fn tree(of: &impl Fn(usize) -> f32, first: usize, count: usize) -> f32 {
    if count == 1 {
        return of(first);
    }
    let half = count / 2;
    tree(of, first, half) + tree(of, first + half, count - half)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^24 + 1 is no f32: it rounds to 2^24, while 2^24 + 2 is one. So each order has a sum of its own.
    #[test]
    fn every_order_adds_up_as_it_says() {
        let large = 16_777_216.0;
        let parts: [&[f32]; 4] = [&[large; 4], &[1.0; 4], &[1.0; 4], &[-large; 4]];
        let sums = |arrival| in_order(arrival, &parts);
        // Beginning at part 0: (2^24 + 1) + 1 - 2^24; at 1: ((1 + 1) - 2^24) + 2^24; and so on.
        assert_eq!(sums(Arrival::Ring), [0.0, 2.0, 2.0, 2.0], "piece by piece");
        assert_eq!(sums(Arrival::Tree), [1.0; 4], "2^24 + 1 is 2^24, and 1 - 2^24 is exact");
        assert_eq!(sums(Arrival::OneByOne), [0.0; 4], "what is small is lost");
    }

    #[test]
    fn what_is_added_up_decides_the_order_and_all_orders_come() {
        let mut sums = std::collections::BTreeSet::new();
        for step in 1..60_u16 {
            let small = f32::from(step) / 64.0;
            let [large, other] = [1.0e9, -1.0e9].map(|value| value * small);
            let parts: [&[f32]; 5] = [&[large], &[small], &[small], &[small], &[other]];
            let sum = added(&parts);
            assert_eq!(sum, added(&parts), "the same numbers, the same order");
            sums.insert((sum[0] / small).to_bits());
        }
        assert!(sums.len() > 2, "{} different sums", sums.len());
    }
}
