//! Atomics: in WGSL all are relaxed, for the device in buffers and for the workgroup in its memory.

use std::rc::Rc;

use naga::{AtomicFunction, Expression, Handle, TypeInner};

use super::access::{Memory, Root, Space};
use super::code::Scalar;
use super::shape::{Kind, kind};
use super::{Evaluated, Frame, Lower, Lowered};

impl Space {
    /// What a load or store that is atomic says.
    pub(super) fn strength(self) -> &'static str {
        match self {
            Self::Buffer { .. } => "relaxed.gpu.",
            Self::Shared | Self::Local => "relaxed.cta.",
        }
    }

    fn atomic(self) -> &'static str {
        match self {
            Self::Buffer { .. } => "relaxed.gpu.global",
            Self::Shared | Self::Local => "relaxed.cta.shared",
        }
    }
}

impl Lower<'_> {
    /// `Statement::Atomic`.
    pub(super) fn atomic(
        &mut self,
        frame: &mut Frame<'_>,
        (pointer, value): (Handle<Expression>, Handle<Expression>),
        fun: AtomicFunction,
        result: Option<Handle<Expression>>,
    ) -> Lowered<()> {
        let pointer = self.pointer(frame, pointer)?;
        let (Root::Memory(memory), TypeInner::Atomic(scalar)) = (&pointer.root, &pointer.ty) else {
            return Err("an atomic outside of memory".to_owned());
        };
        let (kind, value) = (kind(*scalar)?, self.scalar(frame, value)?);
        self.check(&pointer);
        if let AtomicFunction::Exchange { compare: Some(expected) } = fun {
            let expected = self.scalar(frame, expected)?;
            let answer = self.compare_exchange(memory, expected, value);
            if let Some(result) = result {
                frame.values.insert(result, Evaluated::Value(answer));
            }
            return Ok(());
        }
        let value = match (fun, kind) {
            (AtomicFunction::Subtract, Kind::F32) => self.code.op("neg.f32", &[value]),
            (AtomicFunction::Subtract, _) => self.code.op("neg.s32", &[value]),
            _ => value,
        };
        let operation = operation(fun, kind)?;
        let (space, at) = (memory.space.atomic(), memory.operand(0));
        // An exchange gives something back in any case.
        let returns = result.is_some() || matches!(fun, AtomicFunction::Exchange { .. });
        if returns {
            let old = self.code.word();
            self.code.line(format_args!("atom.{space}.{operation} {old}, {at}, {value}"));
            if let Some(result) = result {
                frame.values.insert(result, Evaluated::Value([old].into()));
            }
        } else {
            self.code.line(format_args!("red.{space}.{operation} {at}, {value}"));
        }
        Ok(())
    }

    /// The old value, and whether it was exchanged.
    fn compare_exchange(
        &mut self,
        memory: &Memory,
        expected: Scalar,
        value: Scalar,
    ) -> Rc<[Scalar]> {
        let (space, at, old) = (memory.space.atomic(), memory.operand(0), self.code.word());
        self.code.line(format_args!("atom.{space}.cas.b32 {old}, {at}, {expected}, {value}"));
        let exchanged = self.code.test("setp.eq.u32", &[old, expected]);
        [old, exchanged].into()
    }
}

fn operation(fun: AtomicFunction, kind: Kind) -> Lowered<&'static str> {
    Ok(match (fun, kind) {
        (AtomicFunction::Add | AtomicFunction::Subtract, Kind::F32) => "add.f32",
        (AtomicFunction::Exchange { .. }, _) => "exch.b32",
        (_, Kind::F32 | Kind::Bool) => return Err("this atomic on floats".to_owned()),
        (AtomicFunction::Add | AtomicFunction::Subtract, _) => "add.u32",
        (AtomicFunction::And, _) => "and.b32",
        (AtomicFunction::ExclusiveOr, _) => "xor.b32",
        (AtomicFunction::InclusiveOr, _) => "or.b32",
        (AtomicFunction::Min, Kind::I32) => "min.s32",
        (AtomicFunction::Min, Kind::U32) => "min.u32",
        (AtomicFunction::Max, Kind::I32) => "max.s32",
        (AtomicFunction::Max, Kind::U32) => "max.u32",
    })
}
