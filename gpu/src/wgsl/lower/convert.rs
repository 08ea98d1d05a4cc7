//! Conversions between numbers.

use std::rc::Rc;

use naga::{Bytes, ScalarKind, TypeInner};

use super::code::Scalar;
use super::operator::kind_of;
use super::shape::{Kind, kind};
use super::{Lower, Lowered};

/// The largest floats that are integers of 32 bits: 2^31 - 2^7 and 2^32 - 2^8.
const LARGEST: [f32; 2] = [f32::from_bits(0x4eff_ffff), f32::from_bits(0x4f7f_ffff)];

impl Lower<'_> {
    /// A conversion of values; `convert` has the bytes of the result's numbers, without which bits stay.
    pub(super) fn conversion(
        &mut self,
        from: &TypeInner,
        to: ScalarKind,
        convert: Option<Bytes>,
        value: &[Scalar],
    ) -> Lowered<Rc<[Scalar]>> {
        let from = kind_of(from)?;
        let Some(width) = convert else { return Ok(value.into()) };
        let to = kind(naga::Scalar { kind: to, width })?;
        Ok(value.iter().map(|&number| self.converted(from, to, number)).collect())
    }

    fn converted(&mut self, from: Kind, to: Kind, a: Scalar) -> Scalar {
        match (from, to) {
            (Kind::F32, Kind::F32) | (Kind::Bool, Kind::Bool) => a,
            (Kind::I32 | Kind::U32, Kind::I32 | Kind::U32) => a,
            (Kind::F32, Kind::I32) => self.integer_of("cvt.rzi.s32.f32", LARGEST[0], a),
            (Kind::F32, Kind::U32) => self.integer_of("cvt.rzi.u32.f32", LARGEST[1], a),
            (Kind::I32, Kind::F32) => self.code.op("cvt.rn.f32.s32", &[a]),
            (Kind::U32, Kind::F32) => self.code.op("cvt.rn.f32.u32", &[a]),
            (Kind::Bool, Kind::F32) => self.code.select(a, Scalar::float(1.0), Scalar::float(0.0)),
            (Kind::Bool, Kind::I32 | Kind::U32) => self.code.number(a),
            // Both zeros are false, and what is not a number is true.
            (Kind::F32, Kind::Bool) => self.code.test("setp.neu.f32", &[a, Scalar::float(0.0)]),
            (Kind::I32 | Kind::U32, Kind::Bool) => {
                self.code.test("setp.ne.u32", &[a, Scalar::Bits(0)])
            }
        }
    }

    /// Towards zero. A float beyond all integers is the last that is both (WGSL, "Floating Point Conversion");
    /// PTX's conversion goes on to the last integer above and does the same below.
    fn integer_of(&mut self, opcode: &str, largest: f32, a: Scalar) -> Scalar {
        let within = self.code.op("min.f32", &[a, Scalar::float(largest)]);
        self.code.op(opcode, &[within])
    }
}
