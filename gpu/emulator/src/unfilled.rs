//! Variables of a module that nobody fills: without an initializer, read by a kernel, and written by none. On a device
//! host code fills them (`cudaMemcpyToSymbol`), which is not in the PTX, so that they would be zeros here.
//!
//! Where addresses go is followed through registers, in whichever order: what is computed from an address may be one.
//! An address that is stored may be written through by somebody, and so may one that a kernel has that does not run.

use std::collections::{BTreeSet, HashMap};

use super::ir::{Address, Base, Empty, Kernel, Memory, Module, Op, Place, RareMemory};
use super::memory::MODULE_BASE;

/// What is done with variables, by their numbers.
#[derive(Default)]
struct Uses {
    read: BTreeSet<usize>,
    written: BTreeSet<usize>,
}

impl Module {
    /// Names of the variables that a kernel reads, that have no initializer, and that no kernel of the module writes.
    #[must_use]
    pub fn unfilled(&self, kernel: &str) -> Vec<&str> {
        let Some(own) = self.kernels.get(kernel) else { return Vec::new() };
        if self.empty.is_empty() || !self.refused.is_empty() {
            return Vec::new();
        }
        let written: BTreeSet<usize> = self
            .kernels
            .values()
            .flat_map(|kernel| Uses::of(kernel, &self.empty).written)
            .collect();
        let read = Uses::of(own, &self.empty).read;
        read.difference(&written).map(|&at| self.empty[at].name.as_str()).collect()
    }
}

impl Uses {
    fn of(kernel: &Kernel, all: &[Empty]) -> Self {
        let at = |address: u64| {
            let at = address.checked_sub(MODULE_BASE)?;
            all.iter().position(|variable| (variable.begin..variable.end).contains(&at))
        };
        let mut held: HashMap<Place, BTreeSet<usize>> = HashMap::new();
        let of = |held: &HashMap<Place, BTreeSet<usize>>, place: Place| match kernel.constant(place)
        {
            Some(value) => at(value).into_iter().collect(),
            None => held.get(&place).cloned().unwrap_or_default(),
        };
        // Until nothing is new: each round adds something to a register, or is the last.
        loop {
            let mut grown = false;
            for instruction in &kernel.code {
                if matches!(instruction.op, Op::Memory(_)) {
                    continue;
                }
                let reads = instruction.op.reads();
                let found: BTreeSet<usize> =
                    reads.into_iter().flat_map(|place| of(&held, place)).collect();
                if found.is_empty() {
                    continue;
                }
                for place in instruction.op.writes() {
                    let known = held.entry(place).or_default();
                    let before = known.len();
                    known.extend(&found);
                    grown |= known.len() > before;
                }
            }
            if !grown {
                break;
            }
        }
        let mut uses = Self::default();
        for instruction in &kernel.code {
            let Op::Memory(memory) = &instruction.op else { continue };
            let named = instruction.op.reads().into_iter().flat_map(|place| of(&held, place));
            let (into, address) = match memory {
                Memory::Load(t) | Memory::Rare(RareMemory::GenericLoad(t)) => {
                    (&mut uses.read, Some(t.address))
                }
                Memory::Store(t) | Memory::Rare(RareMemory::GenericStore(t)) => {
                    (&mut uses.written, Some(t.address))
                }
                Memory::Atomic(atomic) | Memory::Rare(RareMemory::GenericAtomic(atomic)) => {
                    (&mut uses.written, Some(atomic.address))
                }
                // What is copied from is read; that it is kept for written loses no more than a finding.
                Memory::Rare(_) => (&mut uses.written, None),
            };
            into.extend(named);
            if let Some(Address { base: Base::None, offset }) = address {
                into.extend(at(offset.cast_unsigned()));
            }
        }
        uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfilled(variables: &str, body: &str) -> Vec<String> {
        let text = format!(
            ".version 8.4\n.target sm_90\n.address_size 64\n{variables}\n.visible .entry k(.param .u64 y)\n{{\n\
             .reg .f32 %f<9>;\n.reg .b64 %d<9>;\nld.param.u64 %d1, [y];\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text).expect("the test's kernel");
        module.unfilled("k").into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_read_and_nowhere_written_is_named() {
        let constant = ".const .align 4 .b8 K[12];";
        let global = ".visible .global .align 4 .b8 K[12];";
        for variables in [constant, global] {
            let space = if variables == constant { "const" } else { "global" };
            let direct = format!("ld.{space}.f32 %f1, [K+4];");
            assert_eq!(unfilled(variables, &direct), ["K"], "{variables} directly");
            let behind = format!(
                "mov.u64 %d2, K;\nadd.s64 %d3, %d2, 8;\nadd.s64 %d4, %d3, %d1;\nld.{space}.f32 %f1, [%d4];"
            );
            assert_eq!(unfilled(variables, &behind), ["K"], "{variables} by a computed address");
            assert_eq!(unfilled(variables, ""), [""; 0], "{variables} is not read");
        }
        let filled = ".const .align 4 .f32 K[3] = {0f3F800000, 0f3F800000, 0f3F800000};";
        assert_eq!(unfilled(filled, "ld.const.f32 %f1, [K+4];"), [""; 0], "with an initializer");
    }

    #[test]
    fn what_a_kernel_may_write_is_not_named() {
        let global = ".visible .global .align 4 .b8 K[12];";
        let read = "ld.global.f32 %f1, [K+4];\nmov.f32 %f2, 0f00000000;\nmov.u64 %d2, K;\n";
        for write in [
            "st.global.f32 [K], %f2;",
            "add.s64 %d3, %d2, 8;\nred.global.add.f32 [%d3], %f2;",
            "st.global.u64 [%d1], %d2;",
        ] {
            assert_eq!(unfilled(global, &format!("{read}{write}")), [""; 0], "{write}");
        }
    }
}
