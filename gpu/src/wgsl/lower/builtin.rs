//! Where an invocation is: built-in values. Which lane of which subgroup it is, WGSL leaves open: it is the order of
//! the indices in lockstep, and any under other schedules.

use naga::{Binding, BuiltIn, Function, TypeInner};

use super::code::Scalar;
use super::{Evaluated, Lower, Lowered};

impl Lower<'_> {
    /// The arguments of the entry point.
    pub(super) fn builtins(&mut self, entry: &Function) -> Lowered<Vec<Evaluated>> {
        let mut all = Vec::new();
        for argument in &entry.arguments {
            let mut value = Vec::new();
            match (&argument.binding, &self.module.types[argument.ty].inner) {
                (Some(binding), _) => value.extend(self.builtin(binding)?),
                (None, TypeInner::Struct { members, .. }) => {
                    for member in members {
                        let binding = member.binding.as_ref();
                        value.extend(self.builtin(binding.ok_or("an argument without a value")?)?);
                    }
                }
                (None, _) => return Err("an argument without a value".to_owned()),
            }
            all.push(Evaluated::Value(value.into()));
        }
        Ok(all)
    }

    fn builtin(&mut self, binding: &Binding) -> Lowered<Vec<Scalar>> {
        let Binding::BuiltIn(builtin) = binding else {
            return Err("an argument that is no built-in value".to_owned());
        };
        let lanes = self.target.lanes;
        Ok(match builtin {
            BuiltIn::WorkGroupId => self.vector("ctaid"),
            BuiltIn::NumWorkGroups => self.vector("nctaid"),
            BuiltIn::LocalInvocationId => self.local_id(),
            BuiltIn::LocalInvocationIndex => vec![self.linear_thread()],
            BuiltIn::GlobalInvocationId => {
                let (group, local) = (self.vector("ctaid"), self.local_id());
                let sizes = self.workgroup;
                let all = group.iter().zip(&local).zip(sizes);
                all.map(|((&group, &local), size)| {
                    self.code.op("mad.lo.u32", &[group, Scalar::Bits(size), local])
                })
                .collect()
            }
            BuiltIn::WorkGroupSize => self.workgroup.map(Scalar::Bits).to_vec(),
            BuiltIn::SubgroupInvocationId => vec![self.lane()],
            BuiltIn::SubgroupSize => vec![Scalar::Bits(lanes)],
            BuiltIn::SubgroupId => match self.wide_place() {
                Some([_, subgroup]) => vec![subgroup],
                None => vec![self.special("warpid")],
            },
            BuiltIn::NumSubgroups => {
                vec![Scalar::Bits(self.workgroup.iter().product::<u32>().div_ceil(lanes))]
            }
            other => return Err(format!("the built-in value {other:?}")),
        })
    }

    pub(super) fn special(&mut self, register: &str) -> Scalar {
        let d = self.code.word();
        self.code.line(format_args!("mov.u32 {d}, %{register}"));
        d
    }

    fn vector(&mut self, register: &str) -> Vec<Scalar> {
        ["x", "y", "z"].map(|axis| self.special(&format!("{register}.{axis}"))).to_vec()
    }

    /// `local_invocation_id`: 0 along a side of one invocation.
    fn local_id(&mut self) -> Vec<Scalar> {
        let sides = ["x", "y", "z"].into_iter().zip(self.workgroup);
        sides
            .map(|(axis, size)| match size {
                1 => Scalar::Bits(0),
                _ => self.special(&format!("tid.{axis}")),
            })
            .collect()
    }

    /// `local_invocation_index`.
    pub(super) fn linear_thread(&mut self) -> Scalar {
        let [width, height, _] = self.workgroup;
        let id = self.local_id();
        let mut index = id[2];
        for (axis, size) in [(1, height), (0, width)] {
            index = match index {
                Scalar::Bits(0) => id[axis],
                _ => self.code.op("mad.lo.u32", &[index, Scalar::Bits(size), id[axis]]),
            };
        }
        index
    }
}
