//! Runs a pair of kernels on a case and compares what comes back with the sweep.

use std::cell::{Cell, LazyCell};
use std::collections::BTreeMap;

use splatcheck_emulator::{Decided, DeviceMemory, Gradient, Loss, Schedule, Shadowing, Touched};

use splatcheck_judge::attribution::{Explained, Parts, explain};
use splatcheck_judge::io::container::Entry;

pub use super::compared::Judged;
use super::compared::{Open, compared, overflows};
use super::draw::{Case, CaseProblem};
use super::dtype::Dtype;
use super::forward::{Pair, by_given, swept};
use super::kinks::{Expected, changed_by_open, either_way, expected};
use super::launch::{Arrays, Traffic};
use super::manifest::Manifest;
use super::program::{Program, ProgramError, Stopped};

/// What came of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// Array by array.
    pub arrays: Vec<Judged>,
    /// Where numbers were lost, in words.
    pub lost: Vec<String>,
    /// Functions of CUDA's library that were followed as the polynomials which the compiler put in their place.
    pub polynomials: Vec<&'static str>,
    /// Comparisons of floats that a conforming execution may decide otherwise, and all.
    pub open: [u64; 2],
    /// What the wrong elements may lack.
    pub explained: Option<Explained>,
    /// A kernel gave no result.
    pub fault: Option<String>,
    /// It took all of its time, as every other run may.
    pub endless: bool,
    /// A run with decisions taken the other way did, as it may on every other case.
    pub endless_otherwise: bool,
    /// It is of a second run, which found the variables of modules as the first had left them.
    pub again: bool,
    /// What the launches that are judged sent to global memory by atomics: the backward ones, or where there are
    /// none those of the other of two programs.
    pub traffic: Traffic,
    /// What all launches did to each array.
    pub touched: BTreeMap<String, Touched>,
}

impl Checked {
    /// Whether it fails as another case does: without a result as well, or in arrays that are wrong there too, with
    /// numbers or with what is none.
    #[must_use]
    pub fn fails_as(&self, other: &Self) -> bool {
        let has_none = |checked: &Self| {
            let mut all = checked.arrays.iter().flat_map(|judged| &judged.wrong);
            all.any(|element| !element.float.is_finite())
        };
        let is_theirs = |own: &Judged| {
            other.arrays.iter().any(|theirs| theirs.name == own.name && !theirs.wrong.is_empty())
        };
        self.is_wrong()
            && self.fault.is_some() == other.fault.is_some()
            && has_none(self) == has_none(other)
            && self.arrays.iter().all(|own| own.wrong.is_empty() || is_theirs(own))
    }

    /// Whether something is wrong.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.fault.is_some() || self.arrays.iter().any(|judged| !judged.wrong.is_empty())
    }

    /// Whether a run of this case took all of its time, as that of each smaller case may.
    #[must_use]
    pub fn has_no_end(&self) -> bool {
        self.endless || self.endless_otherwise
    }

    /// Elements that were compared, of all arrays.
    #[must_use]
    pub fn compared(&self) -> usize {
        self.arrays.iter().map(|judged| judged.compared).sum()
    }

    /// An array of which nothing can be said.
    pub(super) fn not_judged(&mut self, name: &str, shape: Vec<usize>, why: String) {
        let unknown = shape.iter().product();
        let (name, of) = (name.to_owned(), name.to_owned());
        self.arrays.push(Judged { name, of, shape, unknown, ..Judged::default() });
        self.lost.push(why);
    }

    pub(super) fn fault(why: String) -> Self {
        Self { fault: Some(why), ..Self::default() }
    }

    /// What is known of the launches on a memory, before any array is judged.
    pub(super) fn of_memory(memory: &DeviceMemory) -> Self {
        let decisions = memory.decisions();
        let count =
            |of: fn(&Decided) -> u64| decisions.iter().map(|(_, decided)| of(decided)).sum();
        Self {
            lost: lost(memory),
            open: [count(|decided| decided.open), count(|decided| decided.all)],
            ..Self::default()
        }
    }

    /// The same of all launches on a manifest's arrays, and which they touched.
    pub(super) fn of_arrays(arrays: &Arrays) -> Self {
        Self { touched: arrays.touched(), ..Self::of_memory(&arrays.memory) }
    }

    /// The same of a sweep over the first launches on a memory besides.
    pub(super) fn swept(mut self, memory: &DeviceMemory, gradient: &Gradient) -> Self {
        let derivatives = gradient.lost.iter();
        self.lost.extend(derivatives.map(|place| format!("a derivative is lost at {place}")));
        self.polynomials = memory.polynomials().collect();
        self
    }

    /// The same of a second run after another, which left these arrays. That every number is the sum of both runs'
    /// is said before anything else: where both have the same inputs, it is also twice what it must be.
    fn of_second_run(self, first: &Arrays) -> Self {
        let adds_up = |judged: &&Judged| {
            let before = first.memory.exact(first.buffers[&judged.name]);
            !judged.wrong.is_empty()
                && judged.wrong.iter().all(|element| {
                    let before = &before[element.index];
                    let sum = element.expected + before.value;
                    (element.found - sum).abs() <= 2.0 * element.uncertainty + before.uncertainty
                })
        };
        let words = |judged: &Judged| {
            let words = format!("{} holds what the run before left, and adds its own", judged.name);
            Explained::of(words, None)
        };
        let said = self.arrays.iter().find(adds_up).map(words);
        Self { again: true, explained: said.or(self.explained), ..self }
    }

    /// The same of two runs together.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.lost.extend(other.lost);
        self.open = [0, 1].map(|at| self.open[at] + other.open[at]);
        for (name, touched) in other.touched {
            *self.touched.entry(name).or_default() |= touched;
        }
        self
    }

    /// A gradient that was judged, and what its wrong elements may lack if nothing says it yet.
    pub(super) fn add(&mut self, judged: Judged, parts: &dyn Fn(usize) -> Parts) {
        // What is infinite or no number is no sum of parts.
        let finite = judged.wrong.iter().all(|element| element.found.is_finite());
        if self.explained.is_none() && !judged.wrong.is_empty() && finite {
            self.explained = explain(&judged.wrong_array(), parts);
        }
        self.arrays.push(judged);
    }
}

/// How far every derivative is uncertain besides: what goes through an output's number that was lost is not in
/// the sweep at all.
pub(super) fn blindness(gradient: &Gradient) -> f64 {
    if gradient.unknown.is_empty() { 0.0 } else { f64::INFINITY }
}

/// Whether the backward kernel returns the transposed Jacobian of the forward kernel times the given
/// gradients.
///
/// # Errors
/// [`ProgramError`]: the manifest does not fit the program.
pub fn check(
    manifest: &Manifest,
    program: &Program,
    case: &Case,
    schedule: &Schedule,
) -> Result<Checked, ProgramError> {
    program.check_conventions(manifest)?;
    let pair = (manifest, program, case);
    let (first, arrays) = match checked(pair, &DeviceMemory::new, schedule) {
        Ok((checked, arrays)) if !checked.is_wrong() => (checked, arrays),
        other => return told(other.map(|(checked, _)| checked)),
    };
    if !arrays.memory.has_changed_variables() {
        return Ok(first);
    }
    // A counter that is not reset shows when the kernels run once more.
    let again = || arrays.memory.of_next_run();
    let second = told(checked(pair, &again, schedule).map(|(checked, _)| checked))?;
    Ok(if second.is_wrong() { second.of_second_run(&arrays) } else { first })
}

/// A kernel that gives no result is what came of its case.
pub(super) fn told(checked: Result<Checked, Stopped>) -> Result<Checked, ProgramError> {
    match checked {
        Ok(checked) => Ok(checked),
        Err(Stopped::Fault(why)) => Ok(Checked::fault(why)),
        Err(Stopped::NoEnd(why)) => Ok(Checked { endless: true, ..Checked::fault(why) }),
        Err(Stopped::Error(error)) => Err(error),
    }
}

/// A returned gradient by its number: what it is of, its name, its floats, and what they must be.
type Each<'a> = (usize, (((&'a str, &'a str), &'a Vec<f32>), &'a Vec<(f64, f64)>));

/// `start`: the memory on which each run begins, with the variables of modules as they are there.
fn checked(
    (manifest, program, case): Pair<'_>,
    start: &dyn Fn() -> DeviceMemory,
    schedule: &Schedule,
) -> Result<(Checked, Arrays), Stopped> {
    let pair = (manifest, program, case);
    let (mut arrays, gradient) = swept(pair, start(), schedule, None)?;
    let mut outputs_are_finite = true;
    for (of, _) in manifest.given() {
        // A kernel that adds to what nobody wrote has right derivatives and no output.
        arrays.bytes_of(of).map_err(Stopped::Fault)?;
        let exact = arrays.memory.exact(arrays.buffers[of]);
        outputs_are_finite &= exact.iter().all(|exact| exact.value.is_finite());
    }
    // What forward and backward share keeps its exact values: the backward pass goes on from them.
    arrays.count();
    arrays.launch((program, case), &manifest.backward, (Shadowing::Values, schedule))?;
    let traffic = arrays.count();
    let known = Checked::of_arrays(&arrays).swept(&arrays.memory, &gradient);
    let mut checked = Checked { traffic, ..known };
    let doubt = blindness(&gradient);
    if let Some((of, _)) = gradient.unknown.first() {
        let name = arrays.buffers.iter().find(|(_, buffer)| *buffer == of);
        let name = name.map_or("an output", |(name, _)| name.as_str());
        let exact = arrays.memory.exact(*of);
        let is_none =
            gradient.unknown.iter().any(|(of_one, at)| of_one == of && exact[*at].value.is_nan());
        let why = if is_none {
            ", which is no number: nan, from 0/0, infinity - infinity or the like"
        } else {
            ""
        };
        checked.lost.push(format!("no exact number in elements of {name}{why}"));
    }
    checked.lost.sort();
    checked.lost.dedup();
    let floats = |(of, name)| arrays.floats(name, manifest.gradient_type(of));
    let floats: Vec<_> =
        manifest.returned().map(floats).collect::<Result<_, _>>().map_err(Stopped::Fault)?;
    let taken = expected(pair, &arrays, &gradient);
    let no_end = Cell::new(false);
    let run = (start, schedule, &no_end);
    let changed = LazyCell::new(|| changed_by_open(pair, run, (&arrays, &taken)));
    let judge = |expected: &Expected| {
        let each = manifest.returned().zip(&floats).zip(expected).enumerate();
        let judged = |(at, (((of, name), floats), expected)): Each<'_>| {
            let dtype = manifest.gradient_type(of);
            let exact = arrays.memory.exact(arrays.buffers[name]);
            let expected = expected.iter().map(|(value, own)| (*value, own + doubt));
            let finite = |_| outputs_are_finite && !overflows(dtype);
            let reaches = |element: usize| changed.as_ref().is_none_or(|all| all[at][element]);
            let open = Open { any: checked.open[0] > 0, reaches: &reaches };
            let judged = compared(name, of, (floats, &finite), &exact, expected, &open);
            let shape = case.arrays[of].shape.clone();
            Judged { shape, dtype: Dtype::Float(dtype), ..judged }
        };
        each.map(judged).collect::<Vec<_>>()
    };
    let mut all = judge(&taken);
    if all.iter().any(|judged| !judged.wrong.is_empty())
        && let Some(either) = either_way(pair, run, (&arrays, &taken))
    {
        all.iter_mut().zip(judge(&either)).for_each(|(judged, either)| judged.accept(&either));
    }
    checked.endless_otherwise = no_end.get();
    let alone = LazyCell::new(|| by_given(manifest, case, &arrays));
    for ((of, _), judged) in manifest.returned().zip(all) {
        let buffer = arrays.buffers[of];
        checked.add(judged, &|element| {
            let memory = &arrays.memory;
            let uses = memory.contributions(&gradient, buffer, element).unwrap_or_default();
            let shares = memory.shares(&gradient, buffer, element).unwrap_or_default();
            let of = |gradient: &Gradient| gradient.of(buffer)?.get(element).map(|d| d.value);
            let part = |(name, gradient): &(&str, _)| {
                ((*name).to_owned(), of(gradient).unwrap_or_default())
            };
            Parts { uses, shares, given: alone.iter().map(part).collect() }
        });
    }
    Ok((checked, arrays))
}

fn lost(memory: &DeviceMemory) -> Vec<String> {
    let all = memory.losses().into_iter();
    all.map(|lost| format!("{} at {}", because(lost.loss), lost.place)).collect()
}

/// Why a number began anew, in words.
fn because(loss: Loss) -> &'static str {
    match loss {
        Loss::Bits => "a float's bits are changed by integers in a way that no rule follows",
        Loss::Radius => "a result is not within the radius of its operation in real numbers",
        Loss::Range => "a value overflows, or is no number, in f32 or in real numbers alone",
        Loss::Overwritten => "a number was written past its exact value",
        Loss::Decision => {
            "a comparison decides by integers that floats were made of in a way that no rule follows"
        }
        Loss::Unknown => "an instruction that no rule follows uses a float",
        Loss::Count => {
            "a sum of whole numbers that floats became may be a count or in fixed point ([conventions] of gradcheck \
             says it of the line that rounds: detach for a count, straight_through for fixed point; a scale that is \
             a power of two from 65536 on says fixed point by itself)"
        }
    }
}

/// An array that launches leave: its name, type and shape.
pub(super) type Left<'m> = (&'m str, Dtype, Vec<usize>);

/// What the launches of a manifest leave: outputs and returned gradients.
pub(super) fn results<'m>(
    manifest: &'m Manifest,
    case: &Case,
) -> Result<Vec<Left<'m>>, CaseProblem> {
    let outputs = manifest
        .outputs
        .iter()
        .map(|(name, output)| Ok((name.as_str(), output.dtype, case.shape(name, &output.shape)?)));
    let backward = manifest.returned().filter(|_| !manifest.backward.is_empty());
    let gradients = backward.map(|(of, name)| {
        let dtype = Dtype::Float(manifest.gradient_type(of));
        Ok((name, dtype, case.arrays[of].shape.clone()))
    });
    outputs.chain(gradients).collect()
}

/// What is known of each array of a case after all launches, in f64: the numbers in f32 (`f32_NAME`), in real
/// arithmetic (`exact_NAME`), how far rounding may take them (`radius_NAME`); and of each input its derivative
/// (`gradient_NAME`). Of an array that is not whole only what is known is there.
///
/// # Errors
/// As [`check`], and a kernel that gives no result.
pub fn exact_arrays(
    manifest: &Manifest,
    program: &Program,
    case: &Case,
    schedule: &Schedule,
) -> Result<Vec<Entry<f64>>, ProgramError> {
    let (arrays, gradient) = swept((manifest, program, case), DeviceMemory::new(), schedule, None)
        .map_err(|stopped| match stopped {
            Stopped::Error(error) => error,
            Stopped::Fault(why) | Stopped::NoEnd(why) => ProgramError::of("the case", why),
        })?;
    let mut all = Vec::new();
    for (name, output) in &manifest.outputs {
        let Dtype::Float(floats) = output.dtype else { continue };
        let shape = case.shape(name, &output.shape)?;
        let exact = arrays.memory.exact(arrays.buffers[name]);
        if let Ok(found) = arrays.floats(name, floats) {
            let found = found.into_iter().map(f64::from).collect();
            all.push(Entry::named(format!("f32_{name}"), shape.clone(), found));
        }
        let (values, radii) = exact.iter().map(|exact| (exact.value, exact.radius)).unzip();
        all.push(Entry::named(format!("exact_{name}"), shape.clone(), values));
        all.push(Entry::named(format!("radius_{name}"), shape, radii));
    }
    for (of, _) in manifest.returned() {
        let derivatives = gradient.of(arrays.buffers[of]).unwrap_or_default();
        let values = derivatives.iter().map(|derivative| derivative.value).collect();
        all.push(Entry::named(format!("gradient_{of}"), case.arrays[of].shape.clone(), values));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use splatcheck_judge::attribution::Element;

    use super::*;

    #[test]
    fn a_smaller_case_fails_as_the_drawn_one_or_in_less() {
        let wrong = |names: &[&str], float: f32| {
            let element = Element { index: 0, found: 2.0, expected: 1.0, uncertainty: 1e-9, float };
            let array = |name: &&str| {
                let (name, wrong) = ((*name).to_owned(), vec![element]);
                Judged { name, wrong, ..Judged::default() }
            };
            Checked { arrays: names.iter().map(array).collect(), ..Checked::default() }
        };
        let drawn = wrong(&["v_w", "v_b"], 2.0);
        assert!(drawn.fails_as(&drawn), "itself");
        assert!(wrong(&["v_w"], 2.0).fails_as(&drawn), "in one of its arrays");
        assert!(!wrong(&["v_w", "v_x"], 2.0).fails_as(&drawn), "v_x was right");
        assert!(!wrong(&["v_w"], f32::NAN).fails_as(&drawn), "it was a number");
        assert!(!Checked::fault("no end".to_owned()).fails_as(&drawn), "it gave a result");
        assert!(!Checked::default().fails_as(&drawn), "nothing is wrong");
    }
}
