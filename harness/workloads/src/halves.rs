//! Kernels that have some of their arrays in 16 bits a number: their inputs are rounded, for kernel and oracle
//! alike, and the bounds of their outputs allow what the stores round.

use splatcheck_emulator::FloatType;
use splatcheck_gpu::Stage;
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;
use splatcheck_judge::judge::{Expectation, OutputBound, Rows, Summation};
use splatcheck_judge::workload::{NOTE_PREFIX, Notes};
use splatcheck_reference::arithmetic::ArithmeticModel;

use crate::floats::{Stored, named, word};

/// The keys of the notes, behind [`NOTE_PREFIX`], that say which arrays of a reproducer's kernel have 16 bits.
const INPUTS: &str = "half_inputs";
const OUTPUTS: &str = "half_outputs";

/// The arrays of a kernel that have 16 bits a number, by the names of its stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Halves {
    /// Inputs.
    pub inputs: Vec<(&'static str, FloatType)>,
    /// Outputs.
    pub outputs: Vec<(&'static str, Stored)>,
}

impl Halves {
    /// Whether every array has 32 bits a number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.outputs.is_empty()
    }

    /// Adds what a reproducer says of them.
    pub(crate) fn note(&self, notes: &mut Notes) {
        let inputs = self.inputs.iter().map(|(name, float)| format!("{name} {}", word(*float)));
        let output = |(name, stored): &(&str, Stored)| {
            let depth = stored.depth.map_or_else(String::new, |depth| format!(" {depth}"));
            format!("{name} {}{depth}", word(stored.float))
        };
        let outputs = self.outputs.iter().map(output);
        for (key, words) in [(INPUTS, inputs.collect::<Vec<_>>()), (OUTPUTS, outputs.collect())] {
            if !words.is_empty() {
                notes.insert(format!("{NOTE_PREFIX}{key}"), words.join(","));
            }
        }
    }

    /// What a reproducer's notes say of them, if they do.
    ///
    /// # Errors
    /// The note names an array that no stage has, or no type.
    pub(crate) fn noted(notes: &Notes) -> Result<Option<Self>, Problem> {
        let of = |key: &str| {
            let key = format!("{NOTE_PREFIX}{key}");
            let words = notes.get(&key).map_or("", |text| text).split(',');
            let all = words.filter(|word| !word.is_empty()).map(|word| array(&key, word));
            all.collect::<Result<Vec<_>, Problem>>()
        };
        let inputs = of(INPUTS)?.into_iter().map(|(name, stored)| (name, stored.float)).collect();
        let halves = Self { inputs, outputs: of(OUTPUTS)? };
        Ok((!halves.is_empty()).then_some(halves))
    }

    /// What is expected of a kernel whose outputs are stored so.
    pub(crate) fn expected(&self, mut all: Expectation) -> Expectation {
        let model = all.model;
        all.rows.iter_mut().for_each(|rows| self.expected_rows(rows, &model));
        all
    }

    fn expected_rows(&self, rows: &mut Rows, model: &ArithmeticModel) {
        let Rows { count, outputs, terms, lane_sums, .. } = rows;
        let mut summations = None;
        for output in outputs {
            let known = self.outputs.iter().find(|(name, _)| *name == output.name);
            let Some(stored) = known.map(|(_, stored)| stored) else { continue };
            let Some(format) = stored.half() else { continue };
            match &mut output.bound {
                OutputBound::Interval(bounds)
                    if lane_sums.is_empty() || stored.depth == Some(1) =>
                {
                    bounds.iter_mut().for_each(|bound| *bound = format.stored(*bound, model));
                }
                OutputBound::Interval(bounds) => {
                    for (bound, sum) in bounds.iter_mut().zip(lane_sums.iter()) {
                        let depth = stored.depth.map(|depth| u64::from(depth.saturating_sub(1)));
                        let additions = depth.unwrap_or(sum.terms);
                        *bound = format.summed(*bound, sum, additions, model);
                    }
                }
                OutputBound::Sum(elements) => {
                    let width = elements.len().checked_div(*count).unwrap_or(0).max(1);
                    let of_rows = summations.get_or_insert_with(|| {
                        terms.as_ref().map(|terms| terms.summations(None, 1))
                    });
                    for (place, element) in elements.iter_mut().enumerate() {
                        // Of terms that nobody has counted there may be any number.
                        let none = || Summation::in_any_order(u64::MAX);
                        let sum = of_rows.as_ref().map_or_else(none, |all| all.of(place / width));
                        let how = (sum.depth, sum.terms);
                        *element = match stored.depth {
                            Some(1) => element.stored_in(format, how, model),
                            // A term is rounded once, and the others of these roundings are of sums.
                            Some(depth) => {
                                let additions = u64::from(depth.saturating_sub(1));
                                element.added_in(format, additions, how, model)
                            }
                            None => element.added_in(format, sum.terms, how, model),
                        };
                    }
                }
                OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => {}
            }
        }
    }

    /// In words, for the description of a case.
    pub(crate) fn words(&self) -> String {
        let inputs = self.inputs.iter().map(|(name, float)| (*name, *float));
        let outputs = self.outputs.iter().map(|(name, stored)| (*name, stored.float));
        let words = inputs.chain(outputs).map(|(name, float)| format!("{name} in {}", word(float)));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// An array of a note: its name, its type, and how often it is rounded to that at most.
fn array(key: &str, text: &str) -> Result<(&'static str, Stored), Problem> {
    let words: Vec<&str> = text.split(' ').collect();
    let name = Stage::all().find_map(|stage| {
        let mut ports = stage.spec().inputs.iter().chain(stage.spec().outputs);
        ports.find(|port| Some(&port.name) == words.first()).map(|port| port.name)
    });
    let float = words.get(1).and_then(|float| named(float));
    let depth = words.get(2).map(|depth| depth.parse().ok());
    match (name, float, depth, words.len()) {
        (Some(name), Some(float), None | Some(Some(_)), 2..=3) => {
            Ok((name, Stored { float, depth: depth.flatten() }))
        }
        _ => Err(Problem::new(key, quoted(text), "expected an array's name and f16 or bf16")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floats::rounded_finite;
    use crate::scatter::generators::ALL;
    use crate::splat::comparing::{as_noted, in_halves};
    use splatcheck_judge::judge::Arithmetic;
    use splatcheck_judge::workload::AnyCase;
    use std::sync::Arc;

    fn halves(depth: Option<u32>) -> Halves {
        let outputs = vec![("sums", Stored { float: FloatType::F16, depth })];
        Halves { inputs: vec![("values", FloatType::Bf16)], outputs }
    }

    #[test]
    fn what_has_16_bits_goes_with_the_case_into_the_file_and_back() {
        let case: AnyCase = Arc::new(ALL[0].draw(1, 0, 1));
        let folder = tempfile::tempdir().expect("a folder");
        for depth in [None, Some(1), Some(3)] {
            let judged = in_halves(Arc::clone(&case), halves(depth));
            let file = folder.path().join("case.safetensors");
            judged.write(&file, &Notes::new()).expect("written");
            let read = crate::read_case(&file).expect("a case");
            let again = as_noted(read.case, &read.notes).expect("it is noted");
            let all = [&judged, &again].map(|case| {
                let job = case.jobs(0).expect("jobs").remove(0);
                let values = job.inputs.f32("values").expect("an input").to_vec();
                let round = |x: &f32| rounded_finite(FloatType::Bf16, *x).to_bits();
                let are = values.iter().all(|x| x.is_nan() || round(x) == x.to_bits());
                assert!(are, "rounded: {values:?}");
                format!("{:?}", job.expectation(Arithmetic::Cuda))
            });
            assert_eq!(all[0], all[1], "depth {depth:?}: what is read is the same");
        }
        for (key, text) in [(INPUTS, "mine f16"), (OUTPUTS, "sums f8"), (OUTPUTS, "sums f16 x")] {
            let notes = Notes::from([(format!("{NOTE_PREFIX}{key}"), text.to_owned())]);
            let error = as_noted(Arc::clone(&case), &notes).expect_err(text).to_string();
            assert!(error.contains("expected an array's name and f16 or bf16"), "{error}");
        }
    }

    /// A sum that is stored once is bounded more closely than one that is rounded at each addition, and both less
    /// closely than one in f32.
    #[test]
    fn each_rounding_widens_the_bounds() {
        let case: AnyCase = Arc::new(ALL[0].draw(1, 0, 1));
        let inputs = halves(None).inputs;
        let radius = |outputs: Vec<(&'static str, Stored)>| {
            let case = in_halves(Arc::clone(&case), Halves { inputs: inputs.clone(), outputs });
            let job = case.jobs(0).expect("jobs").remove(0);
            let all = job.expectation(Arithmetic::Cuda);
            let OutputBound::Sum(elements) = &all.rows[0].outputs[0].bound else { panic!("sums") };
            elements.iter().map(|element| element.radius).sum::<f64>()
        };
        let [single, once, twice, each] = [
            radius(Vec::new()),
            radius(halves(Some(1)).outputs),
            radius(halves(Some(2)).outputs),
            radius(halves(None).outputs),
        ];
        assert!(single < once && once < twice && twice < each, "{single} {once} {twice} {each}");
    }
}
