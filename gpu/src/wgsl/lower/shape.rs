//! Types as numbers one after the other, and where each lies in memory.
//!
//! Buffers have WGSL's own layout, which naga computes. All other memory is seen by the kernel alone: there
//! every number takes a word and nothing lies between.

use naga::proc::Layouter;
use naga::{ArraySize, Module, Scalar, ScalarKind, TypeInner, VectorSize};

use super::Lowered;

/// What a word holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    F32,
    I32,
    U32,
    Bool,
}

/// How values lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// As WGSL says of buffers.
    Buffer,
    /// A word for each number.
    Words,
}

/// A part of a type.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) ty: TypeInner,
    /// Numbers in front of it, of a value: a buffer may have more than a value.
    pub(super) first: usize,
    /// Bytes in front of it.
    pub(super) offset: u32,
}

/// What an index chooses from.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) ty: TypeInner,
    /// How many there are; `None` where the buffer says so.
    pub(super) count: Option<u32>,
    /// Bytes from one to the next.
    pub(super) stride: u32,
}

/// The types of a module.
pub(super) struct Shapes<'m> {
    module: &'m Module,
    layouter: Layouter,
}

impl<'m> Shapes<'m> {
    pub(super) fn new(module: &'m Module) -> Self {
        let mut layouter = Layouter::default();
        // A validated module's types have layouts.
        let _ = layouter.update(module.to_ctx());
        Self { module, layouter }
    }

    /// The kinds of a type's numbers.
    pub(super) fn kinds(&self, ty: &TypeInner) -> Lowered<Vec<Kind>> {
        let mut kinds = Vec::new();
        self.add_kinds(ty, &mut kinds)?;
        Ok(kinds)
    }

    fn add_kinds(&self, ty: &TypeInner, kinds: &mut Vec<Kind>) -> Lowered<()> {
        match *ty {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => kinds.push(kind(scalar)?),
            TypeInner::Vector { size, scalar } => {
                let kind = kind(scalar)?;
                kinds.extend((0..size as u8).map(|_| kind));
            }
            TypeInner::Matrix { columns, rows, scalar } => {
                let kind = kind(scalar)?;
                kinds.extend((0..columns as u8 * rows as u8).map(|_| kind));
            }
            TypeInner::Array { base, size: ArraySize::Constant(count), .. } => {
                let element = self.kinds(&self.module.types[base].inner)?;
                let all = element.len().saturating_mul(count.get() as usize);
                if all > MOST {
                    return Err(format!("a value of more than {MOST} numbers"));
                }
                (0..count.get()).for_each(|_| kinds.extend_from_slice(&element));
            }
            TypeInner::Struct { ref members, .. } => {
                for member in members {
                    self.add_kinds(&self.module.types[member.ty].inner, kinds)?;
                }
            }
            _ => return Err(format!("a value of the type {}", described(ty))),
        }
        Ok(())
    }

    /// How many numbers a type has.
    pub(super) fn count(&self, ty: &TypeInner) -> Lowered<usize> {
        Ok(self.kinds(ty)?.len())
    }

    /// Bytes of a type.
    fn bytes(&self, ty: &TypeInner, layout: Layout) -> Lowered<u32> {
        let words = self.count(ty)?;
        match (layout, ty) {
            (Layout::Buffer, TypeInner::Struct { span, .. }) => Ok(*span),
            (Layout::Buffer, TypeInner::Array { size: ArraySize::Constant(n), stride, .. }) => {
                Ok(n.get().saturating_mul(*stride))
            }
            (Layout::Buffer, TypeInner::Matrix { columns, rows, .. }) => {
                Ok(*columns as u32 * column_stride(*rows))
            }
            (Layout::Buffer | Layout::Words, _) => Ok(4 * u32::try_from(words).unwrap_or(u32::MAX)),
        }
    }

    /// Member, element or column `index` of a type.
    pub(super) fn part(&self, ty: &TypeInner, index: u32, layout: Layout) -> Lowered<Part> {
        if let TypeInner::Struct { members, .. } = ty {
            let member = members
                .get(index as usize)
                .ok_or_else(|| format!("member {index} of a structure of {}", members.len()))?;
            let mut first = 0;
            if layout == Layout::Words {
                for before in &members[..index as usize] {
                    first += self.count(&self.module.types[before.ty].inner)?;
                }
            }
            let offset = match layout {
                Layout::Buffer => member.offset,
                Layout::Words => 4 * u32::try_from(first).unwrap_or(u32::MAX / 4),
            };
            let ty = self.module.types[member.ty].inner.clone();
            return Ok(Part { ty, first, offset });
        }
        let Elements { ty, count, stride } = self.elements(ty, layout)?;
        if count.is_some_and(|count| index >= count) {
            return Err(format!("element {index} of {}", count.unwrap_or(0)));
        }
        let each = match layout {
            Layout::Buffer => 0,
            Layout::Words => self.count(&ty)?,
        };
        // Of an array without a count any index may come: what is too far away is as far as it can be.
        let offset = index.min(u32::MAX / stride.max(1)) * stride;
        Ok(Part { first: each * index as usize, offset, ty })
    }

    /// What an index into a type chooses from.
    pub(super) fn elements(&self, ty: &TypeInner, layout: Layout) -> Lowered<Elements> {
        let (ty, count, stride) = match *ty {
            TypeInner::Vector { size, scalar } => (TypeInner::Scalar(scalar), Some(size as u32), 4),
            TypeInner::Matrix { columns, rows, scalar } => {
                let column = TypeInner::Vector { size: rows, scalar };
                let stride = match layout {
                    Layout::Buffer => column_stride(rows),
                    Layout::Words => 4 * rows as u32,
                };
                (column, Some(columns as u32), stride)
            }
            TypeInner::Array { base, size, stride } => {
                let element = self.module.types[base].inner.clone();
                let count = match size {
                    ArraySize::Constant(count) => Some(count.get()),
                    ArraySize::Dynamic => None,
                    ArraySize::Pending(_) => return Err("an array without a size".to_owned()),
                };
                let stride = match layout {
                    Layout::Buffer => stride,
                    Layout::Words => self.bytes(&element, layout)?,
                };
                (element, count, stride)
            }
            _ => return Err(format!("an index into {}", described(ty))),
        };
        Ok(Elements { ty, count, stride })
    }

    /// Of each number of a type its kind and the bytes in front of it.
    pub(super) fn words(&self, ty: &TypeInner, layout: Layout) -> Lowered<Vec<(Kind, u32)>> {
        let mut words = Vec::new();
        self.add_words(ty, 0, layout, &mut words)?;
        Ok(words)
    }

    fn add_words(
        &self,
        ty: &TypeInner,
        at: u32,
        layout: Layout,
        words: &mut Vec<(Kind, u32)>,
    ) -> Lowered<()> {
        if words.len() >= MOST {
            return Err(format!("a value of more than {MOST} numbers"));
        }
        let parts = match ty {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => {
                words.push((kind(*scalar)?, at));
                return Ok(());
            }
            TypeInner::Struct { members, .. } => u32::try_from(members.len()).unwrap_or(u32::MAX),
            _ => self.elements(ty, layout)?.count.ok_or("a value without a size")?,
        };
        for index in 0..parts {
            let part = self.part(ty, index, layout)?;
            self.add_words(&part.ty, at.saturating_add(part.offset), layout, words)?;
        }
        Ok(())
    }

    /// Bytes of a buffer in front of the array of unknown length that its type is or ends with, and from one
    /// element to the next.
    pub(super) fn tail(&self, ty: &TypeInner) -> Option<(u32, u32)> {
        match ty {
            TypeInner::Array { size: ArraySize::Dynamic, stride, .. } => Some((0, *stride)),
            TypeInner::Struct { members, .. } => {
                let last = members.last()?;
                let (_, stride) = self.tail(&self.module.types[last.ty].inner)?;
                Some((last.offset, stride))
            }
            _ => None,
        }
    }

    /// Bytes of a variable that only the kernel sees.
    pub(super) fn variable_bytes(&self, ty: &TypeInner) -> Lowered<u32> {
        self.bytes(ty, Layout::Words)
    }

    /// The module's naga layouts, of what lies in buffers.
    pub(super) fn layouter(&self) -> &Layouter {
        &self.layouter
    }
}

/// Numbers of a value up to which it is taken apart.
const MOST: usize = 1 << 14;

/// Columns lie as vectors do: three numbers take the place of four.
fn column_stride(rows: VectorSize) -> u32 {
    match rows {
        VectorSize::Bi => 8,
        VectorSize::Tri | VectorSize::Quad => 16,
    }
}

/// The kind of a number.
pub(super) fn kind(scalar: Scalar) -> Lowered<Kind> {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Float, 4) => Ok(Kind::F32),
        (ScalarKind::Sint, 4) => Ok(Kind::I32),
        (ScalarKind::Uint, 4) => Ok(Kind::U32),
        (ScalarKind::Bool, _) => Ok(Kind::Bool),
        (
            ScalarKind::Float
            | ScalarKind::Sint
            | ScalarKind::Uint
            | ScalarKind::AbstractInt
            | ScalarKind::AbstractFloat,
            _,
        ) => Err(format!("a number of {} bits", 8 * u32::from(scalar.width))),
    }
}

/// A type that is not supported, in words.
fn described(ty: &TypeInner) -> &'static str {
    match ty {
        TypeInner::Scalar(_) => "number",
        TypeInner::Vector { .. } => "vector",
        TypeInner::Matrix { .. } => "matrix",
        TypeInner::CooperativeMatrix { .. } => "cooperative matrix",
        TypeInner::Atomic(_) => "atomic",
        TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => "pointer",
        TypeInner::Array { .. } => "array without a fixed size",
        TypeInner::Struct { .. } => "structure",
        TypeInner::Image { .. } => "texture",
        TypeInner::Sampler { .. } => "sampler",
        TypeInner::AccelerationStructure { .. } | TypeInner::RayQuery { .. } => "ray query",
        TypeInner::BindingArray { .. } => "array of bindings",
    }
}
