//! Comparisons of equal numbers that leave no predicate, decided the other way.

use super::super::super::ir::{File, Place, Rare, RareOp, SINK};
use super::super::super::lanes::{Bits, low};
use super::super::super::rare::takes_first;
use super::super::super::registers::Registers;
use super::super::journal::Journal;
use super::super::signs::turn;

impl Journal {
    /// After a rare operation: takes the other way in these lanes, by halves.
    pub(in super::super) fn reverse_rare(
        &self,
        r: &mut Registers,
        rare: &Rare,
        [lanes, upper]: [u32; 2],
    ) {
        let Place { file, slot } = rare.d;
        if slot == SINK {
            return;
        }
        match rare.op {
            RareOp::SetNarrow { to, format, packed, .. } => {
                let one = low(format.set(to, packed));
                turn(r, slot, lanes, |_| one);
                turn(r, slot, upper, |_| one << 16);
            }
            RareOp::Set { float: true, .. } => turn(r, slot, lanes, |_| 1.0_f32.to_bits()),
            RareOp::Set { float: false, .. } => turn(r, slot, lanes, |_| u32::MAX),
            RareOp::SelectBySign { float, flush } => {
                for lane in Bits(lanes) {
                    let k = usize::from(takes_first(self.words[2][lane], float, flush));
                    match file {
                        File::Word => {
                            let poisoned = r.words.poison(slot) >> lane & 1 == 1;
                            r.words.set_lane(slot, lane, self.words[k][lane], poisoned);
                        }
                        File::B64 => {
                            let poisoned = r.b64.poison(slot) >> lane & 1 == 1;
                            r.b64.set_lane(slot, lane, self.wides[k][lane], poisoned);
                        }
                        File::Predicate => {}
                    }
                }
            }
            RareOp::CopySign { .. }
            | RareOp::Logic3(_)
            | RareOp::Permute(_)
            | RareOp::Extract(_)
            | RareOp::Half(_) => self.turn_signs(r, rare.d, lanes),
            // They compare nothing.
            RareOp::Convert(_)
            | RareOp::Double(..)
            | RareOp::Narrow(_)
            | RareOp::ConvertPair { .. }
            | RareOp::MulWideHalf { .. }
            | RareOp::Insert64
            | RareOp::Find64 { .. }
            | RareOp::Reverse64
            | RareOp::MaskBits { .. }
            | RareOp::Widen { .. }
            | RareOp::FindNth
            | RareOp::DotBytes { .. }
            | RareOp::DotHalves { .. }
            | RareOp::MadHigh { .. }
            | RareOp::Mul24 { .. }
            | RareOp::Sad { .. }
            | RareOp::Pack16
            | RareOp::IsIn(_)
            | RareOp::Test { .. }
            | RareOp::Wave { .. }
            | RareOp::PowerWgsl { .. } => {}
        }
    }
}
