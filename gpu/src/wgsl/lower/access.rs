//! Pointers, and what goes through them.
//!
//! WGSL answers an index beyond an array with some element or none, and reports nothing. Here it ends
//! the run: an index into an array of known length is compared with it, and a buffer is alone in its
//! window of addresses. A pointer to no element harms nobody: it is what goes through it that ends the run.
//! Where bounds are not watched, such an index is the last one's.

use std::rc::Rc;

use naga::{AddressSpace, Expression, Handle, Type, TypeInner};

use super::code::{Scalar, is_truth};
use super::shape::{Kind, Layout};
use super::{Frame, Lower, Lowered, usage};

/// Where a variable lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// `constant`: nobody writes to it while the kernel runs.
    Buffer {
        constant: bool,
    },
    Shared,
    Local,
}

impl Space {
    /// As PTX names it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Buffer { .. } => "global",
            Self::Shared => "shared",
            Self::Local => "local",
        }
    }

    fn layout(self) -> Layout {
        match self {
            Self::Buffer { .. } => Layout::Buffer,
            Self::Shared | Self::Local => Layout::Words,
        }
    }
}

/// A place in memory: a register or a variable's name, and bytes from there.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) space: Space,
    pub(super) base: String,
    pub(super) offset: u32,
}

impl Memory {
    /// As an operand, so many bytes on.
    pub(super) fn operand(&self, further: u32) -> String {
        format!("[{}+{}]", self.base, self.offset.saturating_add(further))
    }
}

/// What a pointer leads to: registers, or a place in memory.
#[derive(Clone, Debug)]
pub(super) enum Root {
    Registers(Rc<[Scalar]>),
    Memory(Memory),
}

/// A pointer to a value of a type.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    pub(super) root: Root,
    pub(super) ty: TypeInner,
    /// Indices on the way to it, each with the count that it must be below when something goes through it.
    pub(super) indices: Rc<[(Scalar, u32)]>,
}

impl Pointer {
    /// To a whole variable.
    pub(super) fn to(root: Root, ty: TypeInner) -> Self {
        Self { root, ty, indices: Rc::default() }
    }

    fn layout(&self) -> Layout {
        match &self.root {
            Root::Registers(_) => Layout::Words,
            Root::Memory(memory) => memory.space.layout(),
        }
    }
}

/// Bytes from one element to the next up to which every index, of 32 bits, stays in a buffer's window of addresses
/// ([`DeviceMemory`](splatcheck_emulator::DeviceMemory)), which has 40.
const FARTHEST_STRIDE: u32 = 1 << 7;

/// Words of a variable from which zeros are written by a loop.
const MANY: u32 = 64;

impl Lower<'_> {
    /// A variable of the invocation: in memory where it is indexed, else in registers.
    pub(super) fn variable(
        &mut self,
        name: Option<&String>,
        indexed: bool,
        ty: Handle<Type>,
    ) -> Lowered<Root> {
        let ty = &self.module.types[ty].inner;
        if indexed {
            let bytes = self.shapes.variable_bytes(ty)?;
            let base = self.declare(Space::Local, name, bytes);
            return Ok(Root::Memory(Memory { space: Space::Local, base, offset: 0 }));
        }
        let kinds = self.shapes.kinds(ty)?;
        let register = |kind: &Kind| match kind {
            Kind::Bool => self.code.truth(),
            Kind::F32 | Kind::I32 | Kind::U32 => self.code.word(),
        };
        Ok(Root::Registers(kinds.iter().map(register).collect()))
    }

    /// Writes what a variable holds at first: zeros where the program does not say.
    pub(super) fn initialize(
        &mut self,
        root: &Root,
        ty: &TypeInner,
        init: Option<Rc<[Scalar]>>,
    ) -> Lowered<()> {
        let words = u32::try_from(self.shapes.count(ty)?).unwrap_or(u32::MAX);
        match (root, init) {
            (Root::Memory(memory), None) if words > MANY => {
                self.fill_zeros(memory, words, Scalar::Bits(0), 1);
                Ok(())
            }
            (_, init) => {
                let value = match init {
                    Some(value) => value,
                    None => self.zeros(ty)?,
                };
                self.store(&Pointer::to(root.clone(), ty.clone()), &value)
            }
        }
    }

    /// A value of zeros.
    pub(super) fn zeros(&self, ty: &TypeInner) -> Lowered<Rc<[Scalar]>> {
        let zero = |kind: &Kind| match kind {
            Kind::Bool => Scalar::Truth(false),
            Kind::F32 | Kind::I32 | Kind::U32 => Scalar::Bits(0),
        };
        Ok(self.shapes.kinds(ty)?.iter().map(zero).collect())
    }

    /// Zeros in so many words, of which this lane writes each `step`th from `first` on.
    pub(super) fn fill_zeros(&mut self, memory: &Memory, words: u32, first: Scalar, step: u32) {
        let space = memory.space.word();
        let [next, end] = [self.code.label(), self.code.label()];
        let at = self.code.copied(first);
        self.code.bind(next);
        let over = self.code.test("setp.ge.u32", &[at, Scalar::Bits(words)]);
        self.code.jump_if(over, true, end);
        let address = self.code.word();
        self.code.line(format_args!("mad.lo.u32 {address}, {at}, 4, {}", memory.base));
        self.code.line(format_args!("st.{space}.b32 [{address}], 0"));
        self.code.write("add.u32", at, &[at, Scalar::Bits(step)]);
        self.code.jump(next);
        self.code.bind(end);
    }

    /// Member, element or column `index` of what a pointer leads to.
    pub(super) fn pointer_part(&mut self, pointer: &Pointer, index: u32) -> Lowered<Pointer> {
        let part = self.shapes.part(&pointer.ty, index, pointer.layout())?;
        let root = match &pointer.root {
            Root::Registers(all) => {
                let count = self.shapes.count(&part.ty)?;
                Root::Registers(all[part.first..part.first + count].into())
            }
            Root::Memory(memory) => Root::Memory(Memory {
                offset: memory.offset.saturating_add(part.offset),
                ..memory.clone()
            }),
        };
        Ok(Pointer { root, ty: part.ty, indices: pointer.indices.clone() })
    }

    /// The element of an index that is known when the kernel runs, or of one that a caller says.
    fn pointer_element(&mut self, pointer: &Pointer, index: Scalar) -> Lowered<Pointer> {
        let elements = self.shapes.elements(&pointer.ty, pointer.layout())?;
        if let Scalar::Bits(known) = index {
            return match elements.count.filter(|&count| known >= count) {
                // What follows may not be reached, and is of the last.
                Some(count) => {
                    let last = self.pointer_part(pointer, count.saturating_sub(1))?;
                    Ok(Pointer { indices: self.watched(pointer, index, count), ..last })
                }
                None => self.pointer_part(pointer, known),
            };
        }
        let Root::Memory(memory) = &pointer.root else {
            return Err("an index into a variable without an address".to_owned());
        };
        let (index, indices) = match elements.count {
            Some(count) if self.target.bounds => (index, self.watched(pointer, index, count)),
            Some(count) => (self.within(index, count), pointer.indices.clone()),
            None => (index, pointer.indices.clone()),
        };
        let base = self.address_of(memory, index, elements.stride);
        let root = Root::Memory(Memory { base, ..memory.clone() });
        Ok(Pointer { root, ty: elements.ty, indices })
    }

    /// The indices on the way to an element of what a pointer leads to, where bounds are watched.
    fn watched(&self, pointer: &Pointer, index: Scalar, count: u32) -> Rc<[(Scalar, u32)]> {
        let own = self.target.bounds.then_some((index, count));
        pointer.indices.iter().copied().chain(own).collect()
    }

    /// Ends the run where something goes through a pointer to no element.
    pub(super) fn check(&mut self, pointer: &Pointer) {
        for &(index, count) in pointer.indices.iter() {
            self.within(index, count);
        }
    }

    /// An index below a count: one that is not ends the run, or is the last.
    fn within(&mut self, index: Scalar, count: u32) -> Scalar {
        if let Some(&within) = self.known.within.get(&(index, count)) {
            return within;
        }
        let within = if self.target.bounds {
            self.code.line(format_args!("trap.index.u32 {index}, {count}"));
            index
        } else {
            self.code.op("min.u32", &[index, Scalar::Bits(count.saturating_sub(1))])
        };
        self.known.within.insert((index, count), within);
        within
    }

    /// The base of an element's address.
    fn address_of(&mut self, memory: &Memory, index: Scalar, stride: u32) -> String {
        let key = (memory.base.clone(), index, stride);
        if let Some(address) = self.known.addresses.get(&key) {
            return address.clone();
        }
        let base = &memory.base;
        let address = match memory.space {
            Space::Buffer { .. } => {
                let mut index = index;
                if stride > FARTHEST_STRIDE {
                    // The first element beyond every buffer, whose bytes are a number of 32 bits.
                    let beyond = u32::MAX / stride + 1;
                    index = self.code.op("min.u32", &[index, Scalar::Bits(beyond)]);
                }
                let address = self.code.address();
                self.code.line(format_args!("mad.wide.u32 {address}, {index}, {stride}, {base}"));
                address
            }
            Space::Shared | Space::Local => {
                let address = self.code.word();
                self.code.line(format_args!("mad.lo.u32 {address}, {index}, {stride}, {base}"));
                address.to_string()
            }
        };
        self.known.addresses.insert(key, address.clone());
        address
    }

    /// What lies behind a pointer.
    pub(super) fn load(&mut self, pointer: &Pointer) -> Lowered<Rc<[Scalar]>> {
        self.check(pointer);
        match &pointer.root {
            Root::Registers(all) => Ok(all.iter().map(|&register| self.read(register)).collect()),
            Root::Memory(memory) => {
                let strong = match pointer.ty {
                    TypeInner::Atomic(_) => memory.space.strength(),
                    _ => "",
                };
                let words = self.shapes.words(&pointer.ty, memory.space.layout())?;
                Ok(words.iter().map(|&word| self.load_word(memory, strong, word)).collect())
            }
        }
    }

    /// The value that a variable's register has now: it may be written before that is used.
    fn read(&mut self, register: Scalar) -> Scalar {
        if let Some(&same) = self.known.copies.get(&register) {
            return same;
        }
        let copy = self.code.copied(register);
        self.known.copies.insert(register, copy);
        copy
    }

    fn load_word(&mut self, memory: &Memory, strong: &str, (kind, at): (Kind, u32)) -> Scalar {
        let key = (memory.base.clone(), memory.offset.saturating_add(at));
        let constant = memory.space == Space::Buffer { constant: true };
        if let (true, Some(&loaded)) = (constant, self.known.loads.get(&key)) {
            return loaded;
        }
        let (d, space) = (self.code.word(), memory.space.word());
        self.code.line(format_args!("ld.{strong}{space}.b32 {d}, {}", memory.operand(at)));
        if constant {
            self.known.loads.insert(key, d);
        }
        match kind {
            Kind::Bool => self.code.test("setp.ne.u32", &[d, Scalar::Bits(0)]),
            Kind::F32 | Kind::I32 | Kind::U32 => d,
        }
    }

    /// Writes what a pointer leads to.
    pub(super) fn store(&mut self, pointer: &Pointer, value: &[Scalar]) -> Lowered<()> {
        self.check(pointer);
        match &pointer.root {
            Root::Registers(all) => {
                for (&register, &value) in all.iter().zip(value) {
                    self.code.copy(register, value);
                    self.known.copies.insert(register, value);
                }
            }
            Root::Memory(memory) => {
                let strong = match pointer.ty {
                    TypeInner::Atomic(_) => memory.space.strength(),
                    _ => "",
                };
                let space = memory.space.word();
                let words = self.shapes.words(&pointer.ty, memory.space.layout())?;
                for ((_, at), &value) in words.iter().zip(value) {
                    let value = if is_truth(value) { self.code.number(value) } else { value };
                    let to = memory.operand(*at);
                    self.code.line(format_args!("st.{strong}{space}.b32 {to}, {value}"));
                }
            }
        }
        Ok(())
    }

    /// `Access`: into what a pointer leads to, or into a value.
    pub(super) fn index(
        &mut self,
        frame: &mut Frame<'_>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Lowered<super::Evaluated> {
        let number = match usage::known(self.module, frame.function, index) {
            Some(known) => Scalar::Bits(known),
            None => self.value(frame, index)?[0],
        };
        if self.is_pointer(frame, base) {
            let pointer = self.pointer(frame, base)?;
            return Ok(super::Evaluated::Pointer(self.pointer_element(&pointer, number)?));
        }
        let ty = self.ty(frame, base);
        let all = self.value(frame, base)?;
        let elements = self.shapes.elements(&ty, Layout::Words)?;
        let each = self.shapes.count(&elements.ty)?;
        let count = elements.count.ok_or("an index into a value without a size")?;
        if let Scalar::Bits(known) = number {
            if known >= count && self.target.bounds {
                self.within(number, count);
            }
            let known = known.min(count.saturating_sub(1));
            let part = self.shapes.part(&ty, known, Layout::Words)?;
            let value = all[part.first..part.first + each].into();
            return Ok(super::Evaluated::Value(value));
        }
        let number = self.within(number, count);
        let mut chosen: Vec<Scalar> = all[..each].to_vec();
        for element in 1..count {
            let here = self.code.test("setp.eq.u32", &[number, Scalar::Bits(element)]);
            let first = element as usize * each;
            for (chosen, &other) in chosen.iter_mut().zip(&all[first..first + each]) {
                *chosen = self.code.select(here, other, *chosen);
            }
        }
        Ok(super::Evaluated::Value(chosen.into()))
    }

    /// Whether an expression is a pointer.
    pub(super) fn is_pointer(&self, frame: &Frame<'_>, handle: Handle<Expression>) -> bool {
        let ty = frame.info[handle].ty.inner_with(&self.module.types);
        matches!(ty, TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. })
    }

    /// `arrayLength`.
    pub(super) fn array_length(
        &mut self,
        frame: &mut Frame<'_>,
        array: Handle<Expression>,
    ) -> Lowered<Scalar> {
        let mut at = array;
        let global = loop {
            match frame.function.expressions[at] {
                Expression::AccessIndex { base, .. } | Expression::Access { base, .. } => at = base,
                Expression::GlobalVariable(global) => break global,
                // A pointer that a caller hands over.
                _ => return Err("the length of an array that a function is handed".to_owned()),
            }
        };
        let variable = &self.module.global_variables[global];
        debug_assert!(
            matches!(variable.space, AddressSpace::Storage { .. }),
            "only these have one"
        );
        let tail = self.shapes.tail(&self.module.types[variable.ty].inner);
        let (Some((offset, stride)), Some(&bytes)) = (tail, self.lengths.get(&global)) else {
            return Err("the length of an array of known length".to_owned());
        };
        let rest = match offset {
            0 => bytes,
            _ => self.code.op("sub.u32", &[bytes, Scalar::Bits(offset)]),
        };
        Ok(self.code.op("div.u32", &[rest, Scalar::Bits(stride)]))
    }
}
