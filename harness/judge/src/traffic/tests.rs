use super::*;
use crate::scatter_step::{Destination, ScatterStep};

/// Keyed steps: the rows of each warp's lanes, one workgroup with one step a warp.
struct Keyed(Vec<[Option<u32>; 8]>);

impl Scatter for Keyed {
    fn lane_width(&self) -> u32 {
        8
    }

    fn rows(&self) -> usize {
        5
    }

    fn values(&self) -> u32 {
        2
    }

    fn workgroups(&self) -> u32 {
        1
    }

    fn shared_of_kernel(&self, _: Reduction) -> u64 {
        3
    }

    fn workgroup(&self, _: u32, visit: &mut dyn FnMut(&ScatterStep<'_>)) {
        for (warp, keys) in (0..).zip(&self.0) {
            let of = |row| (0..8).filter(move |&lane| keys[lane] == Some(row));
            let destinations: Vec<_> = (0..5)
                .map(|row| Destination { row, slot: row, lanes: of(row).map(|l| 1 << l).sum() })
                .filter(|destination| destination.lanes != 0)
                .collect();
            let destinations = &destinations[..];
            visit(&ScatterStep {
                per_lane: 1,
                warp,
                place: 0,
                length: 1,
                stopped: 0,
                destinations,
            });
        }
    }
}

#[test]
fn rows_beside_each_other_share_an_instruction_by_hand() {
    let [a, b, c] = [Some(0), Some(1), Some(4)];
    let scatter = Keyed(vec![
        [a; 8],
        [a, b, a, b, a, b, None, None],
        [c, b, b, b, b, b, None, None],
        [None; 8],
    ]);
    let counts = Counts::new(&scatter);
    assert_eq!((counts.contributing(), counts.touched()), (20, 3), "lanes and rows");
    let at = |reduction, threshold| {
        let traffic = counts.traffic(Setting { reduction, threshold }).expect("in range");
        (traffic.global.lanes, traffic.chains)
    };
    // Instructions by lanes: V = 2 for each warp that adds, with the lanes of all its rows.
    let atomic = (vec![0, 0, 0, 0, 0, 0, 4, 0, 2], vec![11, 8, 0, 0, 1]);
    assert_eq!(at(Reduction::Atomic, 0), atomic, "every lane");
    let grouped = (vec![0, 2, 4, 0, 0, 0, 0, 0, 0], vec![2, 2, 0, 0, 1]);
    assert_eq!(at(Reduction::SwS, 0), grouped, "one lane for each row");
    let larger = (vec![0, 2, 2, 0, 0, 0, 2, 0, 0], vec![4, 4, 0, 0, 1]);
    assert_eq!(at(Reduction::SwS, 4), larger, "three lanes each are below the threshold");
    let whole = (vec![0, 2, 0, 0, 0, 0, 4, 0, 0], vec![4, 8, 0, 0, 1]);
    assert_eq!(at(Reduction::SwB, 0), whole, "only the warp with one row is added up");
    let never = at(Reduction::SwB, 9);
    assert_eq!(never, atomic, "never reducing is atomic");
    let block = (vec![0, 0, 0, 2, 0, 0, 0, 0, 0], vec![1, 1, 0, 0, 1]);
    assert_eq!(at(Reduction::Block, 0), block, "rows 0, 1 and 4 by one warp of the pass");
    let block = Setting { reduction: Reduction::Block, threshold: 0 };
    let shared = counts.traffic(block).expect("in range").shared.lanes;
    assert_eq!(shared, [0, 2 + 3, 0, 0, 0, 0, 4, 0, 0], "what a butterfly sends, and the kernel's");
}
