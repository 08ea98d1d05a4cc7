//! Which of the mutations are run.

use super::GeneratedError;
use super::subject::Subject;
use rayon::prelude::*;
use splatcheck_emulator::mutate::{Mutation, apply};
use splatcheck_emulator::{Module, mix};

/// The mutations of one kernel that were drawn.
#[derive(Clone, Debug, Default)]
pub struct Drawn<'s> {
    /// The mutants that are programs.
    pub mutants: Vec<&'s Mutation>,
    /// Those that the emulator refuses, and why; others were drawn in their place.
    pub refused: Vec<(&'s Mutation, String)>,
}

/// Draws so many mutants by a seed, as many of each kernel as far as they last, all different: those
/// of the whole kernel, and others by the seed, which draws the same ones each time.
///
/// # Errors
/// [`GeneratedError::Asked`] for none, and for more than there are.
pub fn draw(
    subjects: &[Subject],
    count: usize,
    seed: u64,
) -> Result<Vec<Drawn<'_>>, GeneratedError> {
    let sizes: Vec<usize> = subjects.iter().map(|subject| subject.mutations.len()).collect();
    let exist = sizes.iter().sum();
    if count == 0 || count > exist {
        return Err(GeneratedError::Asked(format!(
            "{count} mutants were asked for, but these kernels have {exist}: expected 1 to {exist}"
        )));
    }
    let shares = shares(&sizes, count);
    let drawn = subjects.par_iter().zip(shares).enumerate();
    Ok(drawn.map(|(index, (subject, share))| of_kernel(subject, share, seed, index)).collect())
}

/// `count` dealt out evenly, to nobody more than the size.
fn shares(sizes: &[usize], count: usize) -> Vec<usize> {
    let mut shares = vec![0; sizes.len()];
    let mut left = count;
    while left > 0 {
        let before = left;
        for (share, size) in shares.iter_mut().zip(sizes) {
            if *share < *size && left > 0 {
                *share += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    shares
}

fn of_kernel(subject: &Subject, share: usize, seed: u64, kernel: usize) -> Drawn<'_> {
    let start = mix(mix(seed) ^ kernel as u64);
    let mut order: Vec<_> = subject
        .mutations
        .iter()
        .zip(0_u64..)
        .map(|(mutation, index)| (mix(start ^ mix(index)), mutation))
        .collect();
    // The few of a whole kernel are part of every sample.
    order.sort_by_key(|&(key, mutation)| (!mutation.is_of_whole_kernel(), key, mutation.line));
    let mut drawn = Drawn::default();
    for (_, mutation) in order {
        if drawn.mutants.len() == share {
            break;
        }
        match Module::parse(&apply(subject.ptx(), mutation)) {
            Ok(_) => drawn.mutants.push(mutation),
            Err(error) => drawn.refused.push((mutation, error.to_string())),
        }
    }
    drawn.mutants.sort_by_key(|mutation| mutation.line);
    drawn
}

#[cfg(test)]
mod tests {
    use super::super::subject::subjects;
    use super::*;

    #[test]
    fn shares_are_even_as_far_as_sizes_allow() {
        assert_eq!(shares(&[9, 9, 9], 7), [3, 2, 2], "the first get what is left");
        assert_eq!(shares(&[1, 9, 9], 7), [1, 3, 3], "the first has no more");
        assert_eq!(shares(&[1, 2, 3], 6), [1, 2, 3], "all of them");
    }

    #[test]
    fn a_seed_draws_the_same_mutants_again() {
        let subjects = subjects(&["rasterize".to_owned()], None).expect("a kernel");
        let lines = |seed| {
            let drawn = draw(&subjects, 20, seed).expect("there are more");
            drawn[0].mutants.iter().map(|m| (m.line, m.what.clone())).collect::<Vec<_>>()
        };
        assert_eq!(lines(3).len(), 20, "as many as asked for");
        assert_eq!(lines(3), lines(3), "the same seed");
        assert_ne!(lines(3), lines(4), "another seed");
        let all = subjects[0].mutations.len();
        for count in [0, all + 1] {
            let error = draw(&subjects, count, 0).expect_err("too few or too many");
            assert!(error.to_string().contains(&format!("expected 1 to {all}")), "{error}");
        }
    }
}
