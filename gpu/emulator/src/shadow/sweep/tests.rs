//! The sweep against one node after the other.

use super::super::number::UNRECORDED;
use super::super::registers::Lanes;
use super::super::tape::{Flags, Recorded, What};
use super::*;

/// Derivatives are sums in the order of the nodes, however these lie in rows: parents that are one after the other,
/// the same, mixed, shifted against each other, and constants.
#[test]
fn sums_do_not_depend_on_rows() {
    let [mut rows, mut single] = [Tape::new(1 << 24), Tape::new(1 << 24)];
    let values: [f64; LANES] = std::array::from_fn(|lane| 0.3 + lane as f64 / 7.0);
    let constant = [&mut rows, &mut single].map(|tape| tape.constant(1.7, 1e-9))[0];
    let first = [&mut rows, &mut single].map(|tape| tape.input(0, &values, &[1e-8; LANES]))[0];
    let mut last: [u32; LANES] = std::array::from_fn(|lane| first + name(lane));
    let functions = [Function::Product, Function::Fused, Function::Sum];
    let masks = [u32::MAX, 0x00ff_fff0, 0xf0f0_f0f3, u32::MAX];
    for step in 0..60 {
        let function = functions[step % functions.len()];
        let lanes = masks[step / 3 % masks.len()];
        let shifted = std::array::from_fn(|lane| last[(lane + 3) % LANES]);
        let second = match step % 5 {
            0 => last,
            1 => [last[0]; LANES],
            2 => shifted,
            3 => std::array::from_fn(|lane| if lane % 2 == 0 { constant } else { first }),
            _ => std::array::from_fn(|lane| first + name(lane * 5 % 32)),
        };
        let third = std::array::from_fn(|lane| first + name(lane / 8));
        let mut parents = [last, second, third];
        parents[function.operands()..].fill([UNRECORDED; LANES]);
        let flags = Flags::default();
        let what = What { rule: Rule::Real(function), flags, place: name(step) };
        let mut out = Lanes::NONE;
        for lane in Bits(lanes) {
            let x = parents.map(|parents| single.number(parents[lane]).0);
            out.x[lane] = super::super::table::value(function, x).clamp(-3.0, 3.0);
            out.c[lane] = 1e-7;
            let own = parents.map(|parents| parents[lane]);
            single.push(own, out.x[lane], out.c[lane], what.packed());
        }
        let all = Recorded { what, lanes, parents: &parents, open: 0, undecided: 0 };
        rows.record(&all, &mut out);
        for lane in Bits(lanes) {
            last[lane] = out.n[lane];
        }
    }
    assert_eq!(rows.nodes(), single.nodes(), "the same nodes");
    let seeds: Vec<(u32, f64)> = (1_u8..).zip(last).map(|(i, n)| (n, 1.0 / f64::from(i))).collect();
    let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let [rows, single] = [rows.sweep(&seeds), single.sweep(&seeds)];
    let some = single.values.iter().filter(|&&value| value != 0.0).count();
    assert!(some > 1000, "{some} derivatives");
    assert_eq!(bits(&rows.values), bits(&single.values), "derivatives");
    assert_eq!(bits(&rows.doubts), bits(&single.doubts), "and their uncertainties");
}
