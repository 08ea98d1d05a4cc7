//! Which lines of a kernel's PTX control can reach when some branches go one way only: what comes
//! after a branch that is argued never to be taken needs no argument of its own.

use std::collections::BTreeMap;

/// A way out of a conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    /// Line of the branch, from 1.
    pub(super) line: u32,
    /// To its target, or to the next instruction.
    pub(super) taken: bool,
}

/// For every line, whether control reaches it from the line `first` without an edge of `dead`.
pub(super) fn reached(ptx: &[&str], first: u32, dead: &[Edge]) -> Vec<bool> {
    let label = |(index, line): (usize, &&str)| Some((line.strip_suffix(':')?.to_owned(), index));
    let labels: BTreeMap<String, usize> = ptx.iter().enumerate().filter_map(label).collect();
    let mut reached = vec![false; ptx.len()];
    let mut open = vec![(first as usize).saturating_sub(1)];
    while let Some(index) = open.pop() {
        let Some(text) = ptx.get(index).filter(|_| !reached[index]) else { continue };
        reached[index] = true;
        let lives = |taken| !dead.iter().any(|d| d.line as usize == index + 1 && d.taken == taken);
        let words: Vec<&str> = text.split_whitespace().collect();
        let conditional = text.starts_with('@');
        let opcode = words.get(usize::from(conditional)).copied().unwrap_or_default();
        let ends = matches!(opcode.trim_end_matches(';'), "ret" | "exit");
        let branches = opcode == "bra" || opcode.starts_with("bra.");
        if branches && lives(true) {
            let target = words.last().map_or("", |word| word.trim_end_matches(';'));
            open.extend(labels.get(target));
        }
        if (conditional || !(branches || ends)) && lives(false) {
            open.push(index + 1);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    // Inline assembly has braces of its own.
    const PTX: [&str; 12] = [
        "{",
        "setp.eq.s32 \t%p1, %r1, 0;",
        "@%p1 bra \t$FAR;",
        "}",
        "add.s32 \t%r1, %r1, 1;",
        "bra.uni \t$END;",
        "$FAR:",
        "add.s32 \t%r1, %r1, 2;",
        "$END:",
        "@%p1 ret;",
        "ret;",
        "}",
    ];

    fn lines(dead: &[Edge]) -> Vec<usize> {
        let reached = reached(&PTX, 2, dead);
        (1..=PTX.len()).filter(|line| reached[line - 1]).collect()
    }

    #[test]
    fn a_dead_edge_cuts_off_what_only_it_leads_to() {
        assert_eq!(lines(&[]), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "all of it");
        let taken = Edge { line: 3, taken: true };
        assert_eq!(lines(&[taken]), [2, 3, 4, 5, 6, 9, 10, 11], "the target is cut off");
        let passed = Edge { line: 3, taken: false };
        assert_eq!(lines(&[passed]), [2, 3, 7, 8, 9, 10, 11], "the way past it is cut off");
    }
}
