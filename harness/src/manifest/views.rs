//! The arrays of a rasterization of all views in one launch: those of each view, one behind another.

use splatcheck_gpu::{EngineError, Tensors};
use splatcheck_workloads::layout::{Array, Field, Meaning, Symbols, Tensor};
use splatcheck_workloads::splat::views;

use super::types::Manifest;

/// A view's arrays, its sizes, and where its pairs and Gaussians begin among those of all.
#[derive(Debug)]
struct View {
    inputs: Tensors,
    symbols: Symbols,
    first_pair: u32,
    first_gaussian: u32,
}

/// The views that a run is given, of which one is judged: of most kernels that one alone.
#[derive(Debug)]
pub(super) struct Views {
    all: Vec<View>,
    own: usize,
}

impl Views {
    /// Those of a job's inputs; without inputs there are none.
    pub(super) fn of(manifest: &Manifest, inputs: &Tensors) -> Result<Self, EngineError> {
        let (each, own) = match manifest.all_views {
            true => views::of(inputs),
            false => ([(0, inputs.clone())].into(), 0),
        };
        let own = each.keys().position(|&view| view == own).unwrap_or(0);
        let mut all: Vec<View> = Vec::with_capacity(each.len());
        let (mut first_pair, mut first_gaussian) = (0, 0);
        for inputs in each.into_values().filter(|inputs| !inputs.is_empty()) {
            let symbols = Symbols::of(manifest.kind, &inputs)?;
            let number = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
            let next = (number(symbols.pairs), number(symbols.gaussians));
            all.push(View { inputs, symbols, first_pair, first_gaussian });
            (first_pair, first_gaussian) = (first_pair + next.0, first_gaussian + next.1);
        }
        Ok(Self { all, own })
    }

    /// The sizes of the view that is judged; in expressions `cameras` is the number of views, and `M` that of all
    /// their pairs.
    pub(super) fn symbols(&self) -> Symbols {
        let Some(own) = self.all.get(self.own) else { return Symbols::default() };
        let mut symbols = own.symbols.clone();
        if self.all.len() > 1 {
            let pairs: usize = self.all.iter().map(|view| view.symbols.pairs).sum();
            for (name, size) in [("cameras", self.all.len()), ("M", pairs)] {
                symbols.integers.insert(name.to_owned(), i64::try_from(size).unwrap_or(i64::MAX));
            }
        }
        symbols
    }

    /// The words of an array of all views.
    pub(super) fn words(&self, array: &Array) -> usize {
        self.all.iter().map(|view| array.words(&view.symbols)).sum()
    }

    /// The element that a word of an array of all views holds; `None` beyond the end.
    pub(super) fn element(&self, array: &Array, word: usize) -> Option<String> {
        let several = self.all.len() > 1;
        // Of all lists there is one end.
        if several && array.holds(Tensor::TileOffsets) {
            return None;
        }
        let mut before = 0;
        for (number, view) in self.all.iter().enumerate() {
            let words = array.words(&view.symbols);
            if word < before + words {
                let name = array.element(&view.symbols, word - before)?;
                return Some(if several { format!("{name} of view {number}") } else { name });
            }
            before += words;
        }
        None
    }

    /// The words of an input.
    pub(super) fn pack(&self, array: &Array) -> Result<Vec<u32>, EngineError> {
        if let [view] = &self.all[..] {
            return array.pack(&view.inputs, &view.symbols);
        }
        let mut words = Vec::new();
        for view in &self.all {
            words.extend(view.pack(array)?);
        }
        if array.holds(Tensor::TileOffsets) && array.meaning.end {
            let last = self.all.last().map_or(0, |view| view.first_pair + view.pairs());
            words.push(last);
        }
        Ok(words)
    }

    /// What the view that is judged has of the words of an output, with its own inputs and sizes.
    pub(super) fn own<'w>(&self, array: &Array, words: &'w [u32]) -> std::borrow::Cow<'w, [u32]> {
        let begin: usize = self.all[..self.own].iter().map(|view| array.words(&view.symbols)).sum();
        let Some(view) = self.all.get(self.own) else { return words.into() };
        let own = words.get(begin..begin + array.words(&view.symbols)).unwrap_or_default();
        if !array.holds(Tensor::LastIds) || view.first_pair == 0 {
            return own.into();
        }
        let none = array.meaning.none.cast_unsigned();
        let place =
            |&word: &u32| if word == none { word } else { word.wrapping_sub(view.first_pair) };
        own.iter().map(place).collect::<Vec<_>>().into()
    }

    /// The inputs and sizes of the view that is judged.
    pub(super) fn judged(&self) -> Option<(&Tensors, &Symbols)> {
        self.all.get(self.own).map(|view| (&view.inputs, &view.symbols))
    }
}

impl View {
    fn pairs(&self) -> u32 {
        u32::try_from(self.symbols.pairs).unwrap_or(u32::MAX)
    }

    /// The words of an input where they count on from the views before it.
    fn pack(&self, array: &Array) -> Result<Vec<u32>, EngineError> {
        let from =
            |first: u32, words: Vec<u32>| words.into_iter().map(|word| word + first).collect();
        Ok(match array.fields[..] {
            [Field::Whole(Tensor::FlattenIds)] => {
                from(self.first_gaussian, array.pack(&self.inputs, &self.symbols)?)
            }
            [Field::Whole(Tensor::Ranges)] => {
                from(self.first_pair, array.pack(&self.inputs, &self.symbols)?)
            }
            [Field::Whole(Tensor::TileOffsets)] => {
                let meaning = Meaning { end: false, ..array.meaning };
                let without = Array { meaning, ..array.clone() };
                from(self.first_pair, without.pack(&self.inputs, &self.symbols)?)
            }
            [Field::Whole(Tensor::LastIds)] => {
                let place = |&id: &i32| match u32::try_from(id) {
                    Ok(id) => id + self.first_pair,
                    Err(_) => array.meaning.none.cast_unsigned(),
                };
                self.inputs.i32("last_ids")?.iter().map(place).collect()
            }
            _ => array.pack(&self.inputs, &self.symbols)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
    use splatcheck_judge::io::source_tree::folder;
    use splatcheck_workloads::splat::comparing::all_views;
    use splatcheck_workloads::splat::files::corpus::read_any_case;
    use std::sync::Arc;

    /// What the kernels of a parameter list are given of three cameras, of which the last is judged.
    fn of_three(parameter: &str) -> (Views, Array) {
        let text = format!(
            "cameras = \"all\"\nkernel = \"k\"\nblock = [1]\ngrid = [1]\nparameter = [{parameter}]\n"
        );
        let manifest = Manifest::parse(&text).expect("it is right");
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        let case = read_any_case(&corpus.join("backgrounds-of-each-camera.toml"), None);
        let case = all_views(Arc::new(case.expect("a case")));
        let jobs = case.jobs_of(2, &|stage| stage == RASTERIZE_BACKWARD).expect("jobs");
        let views = Views::of(&manifest, &jobs[0].inputs).expect("three");
        let array = manifest.arrays().next().expect("one").1.clone();
        (views, array)
    }

    #[test]
    fn what_counts_pairs_and_gaussians_counts_on_through_the_views() {
        let (views, ids) = of_three("{ tensor = \"flatten_ids\" }");
        assert_eq!((views.all.len(), views.own), (3, 2), "three, of which the last");
        let symbols = views.symbols();
        let words = views.pack(&ids).expect("they are there");
        assert_eq!(symbols.integer("cameras"), Ok(3));
        assert_eq!(symbols.integer("M"), Ok(words.len() as i64), "the pairs of all");
        let n = u32::try_from(views.all[0].symbols.gaussians).expect("a few");
        let last = &words[views.all[2].first_pair as usize..];
        assert!(
            last.iter().all(|&id| (2 * n..3 * n).contains(&id)),
            "behind those before: {words:?}"
        );
        let (views, ranges) = of_three("{ tensor = \"ranges\" }");
        let ranges = views.pack(&ranges).expect("they are there");
        let (views, offsets) = of_three("{ tensor = \"tile_offsets\" }");
        let with_end = views.pack(&offsets).expect("they are there");
        assert_eq!(
            with_end.last(),
            Some(&u32::try_from(words.len()).expect("a few")),
            "the end of all lists"
        );
        let begins: Vec<u32> = ranges.chunks(2).map(|range| range[0]).collect();
        assert_eq!(with_end[..with_end.len() - 1], begins, "where each begins");
        let (views, without) = of_three("{ tensor = \"tile_offsets\", end = false }");
        assert_eq!(views.pack(&without).expect("they are there"), begins, "without the end");
    }

    #[test]
    fn an_element_is_named_with_its_view() {
        let (views, colors) = of_three("{ tensor = \"v_colors\" }");
        let of_one = colors.words(&views.all[0].symbols);
        let named = |word| views.element(&colors, word);
        assert_eq!(named(1).as_deref(), Some("v_colors[0, 1] of view 0"));
        assert_eq!(named(of_one + 1).as_deref(), Some("v_colors[0, 1] of view 1"));
        assert_eq!(named(3 * of_one), None, "beyond the end");
    }

    #[test]
    fn last_contributors_are_those_of_the_view_again() {
        let (views, ids) = of_three("{ tensor = \"last_ids\", none = 0 }");
        let words = views.pack(&ids).expect("they are there");
        let own = views.judged().expect("it").0.i32("last_ids").expect("they are there");
        let begin = words.len() / 3 * 2;
        let first = views.all[2].first_pair as i32;
        for (word, id) in words[begin..].iter().zip(own) {
            let expected = if *id < 0 { 0 } else { id + first };
            assert_eq!(word.cast_signed(), expected, "of all lists, and 0 for none");
        }
        let back = views.own(&ids, &words);
        let again = back.iter().zip(own).all(|(word, id)| word.cast_signed() == (*id).max(0));
        assert!(again, "by the view's own lists: {back:?}");
    }
}
