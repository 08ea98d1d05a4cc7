//! Makes a failing schedule smaller.

use super::schedule::Trace;

/// Takes decisions out of `trace` for as long as `fails` holds of what is left: first large pieces,
/// then single decisions (delta debugging, Zeller and Hildebrandt 2002). What is left out is
/// decided by lockstep order when it is replayed, so that a shorter trace switches less.
///
/// `fails` must hold of `trace` itself; the result then fails, and taking any one decision out of
/// it makes it pass.
pub fn shrink(trace: &Trace, mut fails: impl FnMut(&Trace) -> bool) -> Trace {
    let mut best = trace.clone();
    let mut piece = best.len();
    while piece > 0 {
        let mut at = 0;
        let mut removed = false;
        while at < best.len() {
            let end = (at + piece).min(best.len());
            let mut candidate = best.clone();
            candidate.drain(at..end);
            if fails(&candidate) {
                best = candidate;
                removed = true;
            } else {
                at = end;
            }
        }
        // Removing one decision can make another superfluous.
        if !(piece == 1 && removed) {
            piece /= 2;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Decision;
    use super::*;

    #[test]
    fn what_the_failure_needs_is_left() {
        let decision =
            |warp| Decision { block: 0, warp, lanes: 1, instructions: 1, merge: false, memory: 0 };
        let trace: Trace = (0..100).map(decision).collect();
        let needs = |t: &Trace| [17, 18, 93].iter().all(|w| t.iter().any(|d| d.warp == *w));
        let small = shrink(&trace, needs);
        let warps: Vec<_> = small.iter().map(|d| d.warp).collect();
        assert_eq!(warps, [17, 18, 93], "only what the failure needs is left");
        assert!(shrink(&trace, |_| true).is_empty(), "a failure of any schedule needs no decision");
    }
}
