//! The loop guard: what is added to a kernel for a driver that leaves loops after so many steps.
//!
//! Such a driver (lavapipe, [`LoopLimit::InAll`](crate::engine::LoopLimit)) says nothing when it does
//! so: a right kernel then returns wrong numbers, and one that never ends returns some. Because the
//! steps of all loops of a subgroup count together, a loop after the kernel's last tells: where it is
//! cut, the kernel's own may have been; where it is not, none was.
//!
//! The kernel's text stays as it is. The guard is put where its entry point ends or returns, after a
//! mutant has changed the text.

use super::{Access, Binding, declaration};
use crate::engine::FloatAtomics;

/// The guard's own buffer: steps to count, and the fewest that a lane could count.
pub(crate) const BINDING: Binding =
    Binding { name: "loop_guard", access: Access::Accumulate, element: "u32" };

/// Words of the buffer.
pub(crate) const WORDS: usize = 2;

pub(crate) const TEXT: &str = include_str!("../../kernels/wgsl/loop_guard.wgsl");
const CALL: &str = "count_on();";

/// A program whose last function is its entry point, with the guard, which is bound as that number.
pub(crate) fn guarded(program: &str, binding: usize) -> String {
    let entry = program.rfind("@compute").unwrap_or(program.len());
    let (shared, entry) = program.split_at(entry);
    let declared = declaration(binding, &BINDING, FloatAtomics::CompareExchange);
    // A function without a result returns by these words alone.
    let entry = entry.replace("return;", &format!("{CALL}\n        return;"));
    let entry = match entry.trim_end().strip_suffix('}') {
        Some(body) => format!("{body}    {CALL}\n}}\n"),
        None => entry,
    };
    format!("{declared}{shared}{TEXT}\n{entry}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_counts_wherever_the_entry_point_ends() {
        let program = "fn f() {\n    return;\n}\n\n@compute @workgroup_size(1)\nfn g() {\n    \
                       if true {\n        return;\n    }\n    f();\n}\n";
        let guarded = guarded(program, 3);
        let first = "@group(0) @binding(3) var<storage, read_write> loop_guard: \
                     array<atomic<u32>>;\nfn f() {\n    return;\n}\n";
        assert!(guarded.starts_with(first), "other functions stay as they are: {guarded}");
        let last = "@compute @workgroup_size(1)\nfn g() {\n    if true {\n        count_on();\n        \
                    return;\n    }\n    f();\n    count_on();\n}\n";
        assert!(guarded.ends_with(last), "both ends: {guarded}");
    }
}
