//! What a few instructions compute, as expressions of what stood in the registers in front of them: equal
//! expressions are equal numbers.

mod compare;

use super::super::ir::{
    Arithmetic, B64Unary, Boolean, Compared, File, Instruction, IntegerBinary, Kernel, Op, Place,
    Predicate, Role, Slot, WordTernary, WordUnary,
};
use super::flow::given_by;
use super::integers::{Integers, mask};
use super::state::State;
use super::transfer::{self, Given, Known, Operands, anything};

/// The number of an expression.
pub(super) type Id = usize;

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Constant(u64, u32),
    Truth(bool),
    /// What stood in a register.
    Start(Place),
    Not(Id),
    Boolean(Boolean, Id, Id),
    Less {
        signed: bool,
        a: Id,
        b: Id,
    },
    Equal(Id, Id),
    Select {
        p: Id,
        a: Id,
        b: Id,
    },
    /// An operation without its registers, and which of its results.
    Apply {
        kind: Op,
        of: Vec<Id>,
        result: usize,
    },
    /// What an instruction with an effect gave: that, its place among them, and which of its results.
    Effect(Box<Effect>, usize, usize),
}

/// What an instruction does beside writing registers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Effect {
    guard: Id,
    kind: Op,
    reads: Vec<Id>,
}

/// Expressions, and what is known of each.
pub(super) struct Values<'s> {
    start: &'s State,
    all: Vec<(Expression, Known)>,
}

/// What a run of instructions comes to.
pub(super) struct Outcome {
    /// The registers that it writes, each once.
    pub(super) written: Vec<(Place, Id)>,
    pub(super) effects: Vec<Effect>,
}

/// Operands whose slots are numbers of expressions.
struct Named<'v>(&'v [(Expression, Known)]);

impl Operands for Named<'_> {
    fn integer(&self, file: File, slot: Slot) -> Integers {
        let width = if file == File::B64 { 64 } else { 32 };
        match self.0[usize::from(slot)].1 {
            Known::Integer(known) => known,
            Known::Predicate(_) => Integers::any(width),
        }
    }

    fn predicate(&self, predicate: Predicate) -> Option<bool> {
        match self.0[usize::from(predicate.slot)].1 {
            Known::Predicate(known) => known.map(|holds| holds != predicate.negated),
            Known::Integer(_) => None,
        }
    }
}

impl<'s> Values<'s> {
    pub(super) fn new(start: &'s State) -> Self {
        Self { start, all: Vec::new() }
    }

    fn add(&mut self, expression: Expression, known: Known) -> Id {
        let expression = match (known, expression) {
            (Known::Integer(known), other) => match known.value() {
                Some(value) => Expression::Constant(value, known.width),
                None => other,
            },
            (Known::Predicate(Some(holds)), _) => Expression::Truth(holds),
            (Known::Predicate(None), other) => other,
        };
        let same = self.all.iter().position(|(other, _)| *other == expression);
        same.unwrap_or_else(|| {
            self.all.push((expression, known));
            self.all.len() - 1
        })
    }

    fn truth(&mut self, holds: bool) -> Id {
        self.add(Expression::Truth(holds), Known::Predicate(Some(holds)))
    }

    fn constant(&mut self, value: u64, width: u32) -> Id {
        let known = Integers::one(value, width);
        self.add(Expression::Constant(known.least, width), Known::Integer(known))
    }

    fn known(&self, id: Id) -> Integers {
        match self.all[id].1 {
            Known::Integer(known) => known,
            Known::Predicate(_) => Integers::any(32),
        }
    }

    fn holds(&self, id: Id) -> Option<bool> {
        match self.all[id].1 {
            Known::Predicate(known) => known,
            Known::Integer(_) => None,
        }
    }

    /// What stands in a register or is a constant of a kernel.
    pub(super) fn read(&mut self, kernel: &Kernel, written: &[(Place, Id)], place: Place) -> Id {
        if let Some((_, id)) = written.iter().find(|(other, _)| *other == place) {
            return *id;
        }
        match (place.file, kernel.constant(place)) {
            (File::Predicate, Some(_)) => self.truth(false),
            (File::Word, Some(value)) => self.constant(value, 32),
            (File::B64, Some(value)) => self.constant(value, 64),
            (file, None) => {
                let known = self.start.known(place).unwrap_or(anything(file));
                self.add(Expression::Start(place), known)
            }
        }
    }

    /// What instructions one after the other come to.
    pub(super) fn run(&mut self, kernel: &Kernel, code: &[Instruction], given: &Given) -> Outcome {
        let mut outcome = Outcome { written: Vec::new(), effects: Vec::new() };
        for instruction in code {
            let guard = match instruction.guard {
                None => self.truth(true),
                Some(guard) => {
                    let place = Place { file: File::Predicate, slot: guard.slot };
                    let holds = self.read(kernel, &outcome.written, place);
                    if guard.negated { self.not(holds) } else { holds }
                }
            };
            if self.holds(guard) == Some(false) {
                continue;
            }
            let reads = instruction.op.reads().into_iter();
            let reads: Vec<Id> =
                reads.map(|place| self.read(kernel, &outcome.written, place)).collect();
            let effect = Effect { guard, kind: instruction.op.kind(), reads };
            let number = outcome.effects.len();
            let results = self.results(instruction, &effect, number, given);
            if !matches!(instruction.op, Op::Arithmetic(_)) {
                outcome.effects.push(effect);
            }
            for (place, id) in results {
                let before = self.read(kernel, &outcome.written, place);
                let id = self.select(guard, id, before);
                match outcome.written.iter_mut().find(|(other, _)| *other == place) {
                    Some((_, known)) => *known = id,
                    None => outcome.written.push((place, id)),
                }
            }
        }
        outcome
    }

    fn results(
        &mut self,
        instruction: &Instruction,
        effect: &Effect,
        number: usize,
        given: &Given,
    ) -> Vec<(Place, Id)> {
        let mut op = instruction.op;
        let mut read = effect.reads.iter();
        op.operands(&mut |role, _, slot| {
            if role == Role::Reads {
                let id = read.next().and_then(|id| Slot::try_from(*id).ok());
                *slot = id.unwrap_or_default();
            }
        });
        let places = instruction.op.writes().into_iter().enumerate();
        places
            .map(|(result, place)| {
                let id = match (&op, place.file) {
                    (Op::Arithmetic(op), File::Predicate) => {
                        self.predicate(op, &effect.reads, result)
                    }
                    (Op::Arithmetic(op), File::Word | File::B64) => {
                        self.integer(op, &effect.reads, result, place.file)
                    }
                    (op @ (Op::Memory(_) | Op::Synchronization(_) | Op::Control(_)), file) => {
                        let known = given_by(op, place, given).map(Known::Integer);
                        let what = Expression::Effect(Box::new(effect.clone()), number, result);
                        self.add(what, known.unwrap_or(anything(file)))
                    }
                };
                (place, id)
            })
            .collect()
    }

    fn not(&mut self, a: Id) -> Id {
        match self.all[a].0 {
            Expression::Not(inner) => inner,
            Expression::Truth(holds) => self.truth(!holds),
            _ => self.add(Expression::Not(a), Known::Predicate(None)),
        }
    }

    fn select(&mut self, p: Id, a: Id, b: Id) -> Id {
        match self.holds(p) {
            Some(true) => return a,
            Some(false) => return b,
            None if a == b => return a,
            None => {}
        }
        if let Expression::Not(inner) = self.all[p].0 {
            return self.select(inner, b, a);
        }
        let known = match (self.all[a].1, self.all[b].1) {
            (Known::Integer(a), Known::Integer(b)) => Known::Integer(a.or_of(b)),
            _ => Known::Predicate(None),
        };
        self.add(Expression::Select { p, a, b }, known)
    }

    fn boolean(&mut self, boolean: Boolean, a: Id, b: Id) -> Id {
        let (a, b) = (a.min(b), a.max(b));
        let known = transfer::combined(boolean, self.holds(a), self.holds(b));
        let neutral = boolean == Boolean::And;
        match (boolean, self.holds(a), self.holds(b)) {
            (Boolean::And | Boolean::Or, Some(holds), None) if holds == neutral => b,
            (Boolean::And | Boolean::Or, None, Some(holds)) if holds == neutral => a,
            (Boolean::And | Boolean::Or, None, None) if a == b => a,
            _ => self.add(Expression::Boolean(boolean, a, b), Known::Predicate(known)),
        }
    }

    /// A predicate of arithmetic: the first result, or what it is not.
    fn predicate(&mut self, op: &Arithmetic, reads: &[Id], result: usize) -> Id {
        let negated = |this: &mut Self, predicate: Predicate| {
            let id = Id::from(predicate.slot);
            if predicate.negated { this.not(id) } else { id }
        };
        match op {
            Arithmetic::PredicateMove { a, .. } => negated(self, *a),
            Arithmetic::Predicate2(boolean, _, a, b) => {
                let (a, b) = (negated(self, *a), negated(self, *b));
                self.boolean(*boolean, a, b)
            }
            Arithmetic::Setp(setp) => {
                let Some(mut id) = self.compare(setp) else {
                    return self.apply(&Op::Arithmetic(*op), reads, result, File::Predicate);
                };
                if result == 1 {
                    id = self.not(id);
                }
                match setp.combine {
                    None => id,
                    Some((boolean, other)) => {
                        let other = negated(self, other);
                        self.boolean(boolean, id, other)
                    }
                }
            }
            op => self.apply(&Op::Arithmetic(*op), reads, result, File::Predicate),
        }
    }

    fn integer(&mut self, op: &Arithmetic, reads: &[Id], result: usize, file: File) -> Id {
        if let Arithmetic::SelectWord { p, a, b, .. } | Arithmetic::SelectB64 { p, a, b, .. } = *op
        {
            return self.select(Id::from(p), Id::from(a), Id::from(b));
        }
        match self.simplified(op, reads) {
            Some(id) => id,
            None => self.apply(&Op::Arithmetic(*op), reads, result, file),
        }
    }

    /// The operands as others that the operation takes for the same: a field that ends with the word, a zero
    /// that is compared as a float.
    fn plain(&mut self, op: &Op, reads: &[Id]) -> Vec<Id> {
        let mut of = reads.to_vec();
        match op {
            Op::Arithmetic(Arithmetic::BitFieldInsert(_)) => {
                if let (Some(at), Some(length)) =
                    (self.known(of[2]).value(), self.known(of[3]).value())
                    && at <= 32
                    && (32 - at..=255).contains(&length)
                {
                    of[3] = self.constant(32 - at, 32);
                }
            }
            Op::Arithmetic(Arithmetic::Setp(setp))
                if matches!(setp.compared, Compared::Float { .. }) =>
            {
                for id in &mut of[..2] {
                    if self.known(*id).value() == Some(0x8000_0000) {
                        *id = self.constant(0, 32);
                    }
                }
            }
            _ => {}
        }
        of
    }

    fn apply(&mut self, op: &Op, reads: &[Id], result: usize, file: File) -> Id {
        let known = match (op, file) {
            (Op::Arithmetic(op), File::Word | File::B64) => {
                transfer::integer(op, &Named(&self.all)).map(Known::Integer)
            }
            _ => None,
        };
        let kind = op.kind();
        let mut of = self.plain(op, reads);
        if commutes(&kind) {
            of[..2].sort_unstable();
        }
        let known = known.unwrap_or(anything(file));
        self.add(Expression::Apply { kind, of, result }, known)
    }

    /// The operand that an operation leaves as it is.
    fn simplified(&mut self, op: &Arithmetic, reads: &[Id]) -> Option<Id> {
        let (operation, wide) = match op {
            Arithmetic::WordUnary(WordUnary::Move, ..)
            | Arithmetic::B64Unary(B64Unary::Move, ..) => {
                return reads.first().copied();
            }
            Arithmetic::WordBinary(operation, ..) => (*operation, false),
            Arithmetic::B64Binary(operation, ..) => (*operation, true),
            Arithmetic::WordTernary(WordTernary::MadLo, ..) => return self.mad(reads),
            _ => return None,
        };
        let &[x, y] = reads else { return None };
        let (a, b) = (self.known(x), self.known(y));
        let all = mask(a.width);
        let positive = a.signed().0 >= 0 && b.signed().0 >= 0;
        // Bits that only one of the two can have are the same by `or`, `xor` and `add`.
        let disjoint = !operation.shifts() && (a.zeros | b.zeros) & all == all;
        let is = |known: Integers, value: u64| known.value() == Some(value);
        match operation {
            IntegerBinary::And if (a.zeros | b.ones) & all == all => Some(x),
            IntegerBinary::And if (b.zeros | a.ones) & all == all => Some(y),
            IntegerBinary::And | IntegerBinary::Or if x == y => Some(x),
            IntegerBinary::Or if (b.zeros | a.ones) & all == all => Some(x),
            IntegerBinary::Or if (a.zeros | b.ones) & all == all => Some(y),
            IntegerBinary::Add | IntegerBinary::Or | IntegerBinary::Xor if is(b, 0) => Some(x),
            IntegerBinary::Add | IntegerBinary::Or | IntegerBinary::Xor if is(a, 0) => Some(y),
            IntegerBinary::Add | IntegerBinary::Xor if disjoint => {
                let or = if wide {
                    Arithmetic::B64Binary(IntegerBinary::Or, 0, slot(x)?, slot(y)?)
                } else {
                    Arithmetic::WordBinary(IntegerBinary::Or, 0, slot(x)?, slot(y)?)
                };
                let file = if wide { File::B64 } else { File::Word };
                Some(self.apply(&Op::Arithmetic(or), reads, 0, file))
            }
            IntegerBinary::Sub | IntegerBinary::Shl | IntegerBinary::ShrS | IntegerBinary::ShrU
                if is(b, 0) =>
            {
                Some(x)
            }
            IntegerBinary::MulLo if is(b, 1) => Some(x),
            IntegerBinary::MulLo if is(a, 1) => Some(y),
            IntegerBinary::DivU if is(b, 1) => Some(x),
            IntegerBinary::DivS if is(b, 1) && positive => Some(x),
            IntegerBinary::RemU if a.largest < b.least => Some(x),
            IntegerBinary::RemS if positive && a.largest < b.least => Some(x),
            IntegerBinary::MinU | IntegerBinary::MinS if positive || !signed(operation) => {
                ordered(a, b).map(|first| if first { x } else { y })
            }
            IntegerBinary::MaxU | IntegerBinary::MaxS if positive || !signed(operation) => {
                ordered(a, b).map(|first| if first { y } else { x })
            }
            _ => None,
        }
    }

    /// A product and a sum, where one of the two is nothing.
    fn mad(&mut self, reads: &[Id]) -> Option<Id> {
        let &[x, y, z] = reads else { return None };
        let product = Arithmetic::WordBinary(IntegerBinary::MulLo, 0, slot(x)?, slot(y)?);
        let known = transfer::integer(&product, &Named(&self.all))?;
        if known.value() == Some(0) {
            return Some(z);
        }
        if self.known(z).value() != Some(0) {
            return None;
        }
        Some(self.integer(&product, &[x, y], 0, File::Word))
    }

    /// Whether two numbers agree in the bits that are needed.
    pub(super) fn agree(&self, a: Id, b: Id, needed: u64) -> bool {
        if needed == 0 || self.stripped(a, needed) == self.stripped(b, needed) {
            return true;
        }
        match (self.all[a].1, self.all[b].1) {
            (Known::Integer(x), Known::Integer(y)) => {
                let needed = needed & mask(x.width);
                let both = |x: Integers| (x.zeros | x.ones) & needed == needed;
                both(x) && both(y) && (x.ones ^ y.ones) & needed == 0
            }
            _ => false,
        }
    }

    /// Without what only takes away bits that are not needed.
    fn stripped(&self, id: Id, needed: u64) -> Id {
        let Expression::Apply { kind, of, .. } = &self.all[id].0 else { return id };
        let (
            Op::Arithmetic(
                Arithmetic::WordBinary(IntegerBinary::And, ..)
                | Arithmetic::B64Binary(IntegerBinary::And, ..),
            ),
            &[a, b],
        ) = (kind, of.as_slice())
        else {
            return id;
        };
        for (kept, other) in [(a, b), (b, a)] {
            let (x, y) = (self.known(kept), self.known(other));
            if (y.ones | x.zeros | !needed) & mask(x.width) == mask(x.width) {
                return self.stripped(kept, needed);
            }
        }
        id
    }
}

/// An expression as an operand.
fn slot(id: Id) -> Option<Slot> {
    Slot::try_from(id).ok()
}

fn signed(op: IntegerBinary) -> bool {
    matches!(op, IntegerBinary::MinS | IntegerBinary::MaxS)
}

/// Whether the first is never the larger, or the second never is; `None` where it may be either.
fn ordered(a: Integers, b: Integers) -> Option<bool> {
    if a.largest <= b.least {
        Some(true)
    } else if b.largest <= a.least {
        Some(false)
    } else {
        None
    }
}

fn commutes(op: &Op) -> bool {
    let Op::Arithmetic(Arithmetic::WordBinary(op, ..) | Arithmetic::B64Binary(op, ..)) = op else {
        return false;
    };
    matches!(
        op,
        IntegerBinary::Add
            | IntegerBinary::MulLo
            | IntegerBinary::And
            | IntegerBinary::Or
            | IntegerBinary::Xor
            | IntegerBinary::MinS
            | IntegerBinary::MinU
            | IntegerBinary::MaxS
            | IntegerBinary::MaxU
    )
}
