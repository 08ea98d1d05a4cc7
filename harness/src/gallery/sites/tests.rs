use splatcheck_emulator::Schedule;

use super::super::exact::{Device, Exact};
use super::super::kernel_map::KernelMaps;
use super::super::tests::module;
use super::*;

/// The kind of case that has as many sites as blocks have threads, and the sizes that it takes by the seed.
const OF_BLOCKS: u64 = 19;
const SIZES: [usize; 9] = [31, 32, 33, 63, 64, 65, 127, 128, 129];

/// The gallery's 20 cases have one of the sizes, so all nine are here.
#[test]
fn maps_of_as_many_sites_as_blocks_have_are_the_oracles_at_all_nine_sizes() {
    let module = module("kernel-map");
    let mut sizes = Vec::new();
    for seed in 0..9 {
        let case = Case::drawn(OF_BLOCKS, seed);
        sizes.push(case.coords.len());
        for schedule in [Schedule::lockstep(), Schedule::adversarial(seed)] {
            let mut device = Device::new(&module, &schedule);
            let found = KernelMaps::found(&mut device, &case);
            let found = found.unwrap_or_else(|_| panic!("{} sites: no result", case.coords.len()));
            assert_eq!(KernelMaps::difference(&case, &found), None, "{} sites", case.coords.len());
        }
    }
    sizes.sort_unstable();
    assert_eq!(sizes, SIZES);
}
