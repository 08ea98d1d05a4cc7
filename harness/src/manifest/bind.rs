//! Which entry points of a program a manifest means, and whether their parameter lists are those that it
//! describes.

use crate::cpp_names::{demangled, spelled};
use splatcheck_emulator::{Module, ParameterKind, ParseError};

use crate::manifest::types::{Argument, Launch, Number, Scalar};
use splatcheck_judge::words::count;

/// Bytes of a pointer.
const POINTER: u32 = 8;

/// Why a manifest does not fit a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// Something else than PTX, or PTX outside the subset.
    #[error(transparent)]
    Ptx(ParseError),
    /// A file of a launch's own that is of another kind, or has no such kernel.
    #[error("{file}: {source}")]
    File {
        /// The file, as the manifest names it.
        file: String,
        /// Why.
        source: Box<Self>,
    },
    /// A file of a launch's own that is not there.
    #[error("{0} is named by the manifest and not among the files of the program")]
    Missing(String),
    /// No entry point is meant.
    #[error("no entry point is named '{kernel}': there are {}", listed(names))]
    NoEntry {
        /// What the manifest names.
        kernel: String,
        /// The entry points there are.
        names: Vec<String>,
    },
    /// Several may be meant.
    #[error("'{kernel}' is a part of {} names, give more of one: {}", names.len(), listed(names))]
    Ambiguous {
        /// What the manifest names.
        kernel: String,
        /// The entry points whose names it is a part of.
        names: Vec<String>,
    },
    /// It reads variables of its module that have no value.
    #[error(
        "entry point '{entry}' reads {}, which has no initializer, and no kernel of the file writes it: host code \
         fills it (cudaMemcpyToSymbol), which is not in the PTX. Give it an initializer in the source, as in \
         __constant__ float K[2] = {{ 1.0f, 0.5f }}, or make it a parameter",
        listed(names)
    )]
    Unfilled {
        /// The entry point.
        entry: String,
        /// The variables.
        names: Vec<String>,
    },
    /// The parameter list is another one.
    #[error(
        "entry point '{entry}' takes {}, the manifest gives {}: {first}",
        sizes_of(found),
        given_of(given)
    )]
    Parameters {
        /// The entry point.
        entry: String,
        /// The bytes of each of its parameters.
        found: Vec<u32>,
        /// What the manifest gives, with its bytes.
        given: Vec<(String, u32)>,
        /// The first difference, in words.
        first: String,
    },
}

/// Whether all variables have values that a kernel reads.
///
/// # Errors
/// [`BindError::Unfilled`].
pub(crate) fn filled(module: &Module, entry: &str) -> Result<(), BindError> {
    all_filled(entry, module.unfilled(entry).into_iter().map(str::to_owned).collect())
}

/// The same of the names of those that have none.
///
/// # Errors
/// [`BindError::Unfilled`].
pub(crate) fn all_filled(entry: &str, names: Vec<String>) -> Result<(), BindError> {
    match names.is_empty() {
        true => Ok(()),
        false => Err(BindError::Unfilled { entry: entry.to_owned(), names }),
    }
}

/// Names with what they say in C++.
fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let one = |name: &String| match demangled(name) {
        Some(words) => format!("{name} ({words})"),
        None => name.clone(),
    };
    names.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn sizes_of(sizes: &[u32]) -> String {
    let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    format!("{} parameters of {} bytes", sizes.len(), sizes.join(", "))
}

fn given_of(given: &[(String, u32)]) -> String {
    let each =
        given.iter().zip(1..).map(|((what, bytes), number)| format!("{number} {what} {bytes}"));
    format!("{} ({})", given.len(), each.collect::<Vec<_>>().join(", "))
}

/// Whether a name has a part that neither begins nor ends within a number: `f<3` is no part of `f<32>`.
fn has_part(name: &str, part: &str) -> bool {
    let is_digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    let cuts = |one: Option<char>, other: Option<char>| is_digit(one) && is_digit(other);
    name.match_indices(part).any(|(at, _)| {
        let (before, behind) = (&name[..at], &name[at + part.len()..]);
        !cuts(before.chars().next_back(), part.chars().next())
            && !cuts(part.chars().next_back(), behind.chars().next())
    })
}

/// The entry point that is meant: one of that name, in C++ with or without its parameters, or the only one
/// that the name is a part of.
pub(crate) fn entry(kernel: &str, names: &[String]) -> Result<String, BindError> {
    let plain = |words: &str| {
        let name = words.split(['(', '<']).next().unwrap_or_default();
        name.rsplit(' ').next().unwrap_or_default().to_owned()
    };
    let wanted = spelled(kernel);
    let is = |name: &&String| {
        let words = demangled(name);
        let same = |words: String| spelled(&words) == wanted || plain(&words) == kernel;
        **name == kernel || words.is_some_and(same)
    };
    let part = |name: &&String| {
        let words = demangled(name);
        name.contains(kernel) || words.is_some_and(|words| has_part(&spelled(&words), &wanted))
    };
    let mut found: Vec<&String> = names.iter().filter(is).collect();
    if found.is_empty() && !kernel.is_empty() {
        found = names.iter().filter(part).collect();
    }
    match found[..] {
        [one] => Ok(one.clone()),
        [] => Err(BindError::NoEntry { kernel: kernel.to_owned(), names: names.to_vec() }),
        _ => {
            let names = found.into_iter().cloned().collect();
            Err(BindError::Ambiguous { kernel: kernel.to_owned(), names })
        }
    }
}

/// The names of all entry points in a program's text, also of those that cannot run.
pub(crate) fn entries(ptx: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in ptx.lines() {
        let Some((_, rest)) = line.split_once(".entry ") else { continue };
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$');
        let name = &rest[..end.unwrap_or(rest.len())];
        if !name.is_empty() && !line.trim_start().starts_with("//") {
            names.push(name.to_owned());
        }
    }
    names
}

impl Argument {
    /// Its name in messages.
    fn described(&self) -> String {
        match self {
            Self::Input(array) | Self::Output(array, _) => array.name(),
            Self::Struct(scalars) if scalars.len() == 1 => "number".to_owned(),
            Self::Struct(_) => "struct".to_owned(),
            Self::Own(_) => "array".to_owned(),
            Self::Named(name) => format!("buffer {name}"),
            Self::Null => "null".to_owned(),
        }
    }

    fn bytes(&self) -> u32 {
        match self {
            Self::Struct(scalars) => structure(scalars).1,
            Self::Input(_) | Self::Output(..) | Self::Own(_) | Self::Named(_) | Self::Null => {
                POINTER
            }
        }
    }
}

/// Where C puts the members of a structure, and its bytes.
pub(super) fn structure(scalars: &[Scalar]) -> (Vec<u32>, u32) {
    let (offsets, [_, bytes]) = placed(scalars);
    (offsets, bytes)
}

/// Where C puts the members of a structure, its alignment and its bytes.
fn placed(scalars: &[Scalar]) -> (Vec<u32>, [u32; 2]) {
    let (mut offsets, mut end, mut largest) = (Vec::with_capacity(scalars.len()), 0_u32, 1);
    for scalar in scalars {
        let [align, bytes] = match scalar {
            Scalar::Number(number, _) => [number.bytes(); 2],
            Scalar::Words(_, count) => [4, 4 * u32::try_from(*count).unwrap_or(u32::MAX / 8)],
            Scalar::Pointer(_) => [POINTER; 2],
            Scalar::Struct(members) => placed(members).1,
        };
        let offset = end.next_multiple_of(align);
        offsets.push(offset);
        end = offset + bytes;
        largest = largest.max(align);
    }
    (offsets, [largest, end.next_multiple_of(largest)])
}

/// The entry point of a launch among those of its file, which fits it.
///
/// # Errors
/// [`BindError`].
pub(super) fn bind(
    launch: &Launch,
    names: &[String],
    module: &Module,
) -> Result<String, BindError> {
    let entry = entry(&launch.kernel, names)?;
    if let Some(refusal) = module.refusal(&entry) {
        return Err(BindError::Ptx(refusal.clone()));
    }
    let Some(found) = module.parameter_sizes(&entry) else {
        return Err(BindError::NoEntry { kernel: entry, names: names.to_vec() });
    };
    let kinds = module.parameter_kinds(&entry).unwrap_or_default();
    fits(launch, entry, found, &kinds)
}

fn fits(
    launch: &Launch,
    entry: String,
    found: Vec<u32>,
    kinds: &[ParameterKind],
) -> Result<String, BindError> {
    let given: Vec<_> = launch
        .parameters
        .iter()
        .map(|parameter| (parameter.argument.described(), parameter.argument.bytes()))
        .collect();
    let differs = found.iter().zip(&given).position(|(found, (_, given))| found != given);
    let first = match differs {
        Some(at) => {
            let (number, (what, bytes)) = (at + 1, &given[at]);
            let bytes_there = count(found[at], "byte");
            format!("parameter {number} has {bytes_there}, and {what} has {bytes}")
        }
        None if found.len() > given.len() => {
            format!("parameter {} is not described: add it", given.len() + 1)
        }
        None if found.len() < given.len() => {
            format!("there is no parameter {}: leave it out", found.len() + 1)
        }
        None => {
            let arguments = launch.parameters.iter().map(|parameter| &parameter.argument);
            let mut all = kinds.iter().zip(arguments).zip(1..);
            let other = all.find_map(|((kind, argument), number)| {
                let (there, here) = another_kind(*kind, argument)?;
                Some(format!("parameter {number} is {there} in the program, and {here} here"))
            });
            match other {
                None => return Ok(entry),
                Some(words) => words,
            }
        }
    };
    Err(BindError::Parameters { entry, found, given, first })
}

/// What a program declares a number as, and what it is given, where one is whole and the other is not.
fn another_kind(kind: ParameterKind, argument: &Argument) -> Option<(&'static str, &'static str)> {
    let Argument::Struct(scalars) = argument else { return None };
    let [Scalar::Number(number, _)] = &scalars[..] else { return None };
    let float = match number {
        Number::F32 | Number::F64 => true,
        Number::U8 | Number::U32 | Number::I32 | Number::U64 | Number::I64 => false,
    };
    of_another_kind(kind, float)
}

/// What a program declares a number as, and what a float or a whole number is, where they differ.
pub(crate) fn of_another_kind(
    kind: ParameterKind,
    float: bool,
) -> Option<(&'static str, &'static str)> {
    match (kind, float) {
        (ParameterKind::Whole, true) => Some(("a whole number", "a float")),
        (ParameterKind::Float, false) => Some(("a float", "a whole number")),
        (ParameterKind::Float, true) | (ParameterKind::Whole, false) => None,
        (ParameterKind::Bits, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Expression;

    fn names() -> Vec<String> {
        ["_Z3addPfi", "_ZN6gsplat23rasterize_to_pixels_bwdILj3EfEEvjPKT0_", "add_all"]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn an_entry_point_is_found_by_any_of_its_names() {
        for (kernel, expected) in [
            ("_Z3addPfi", 0),
            ("add(float*, int)", 0),
            ("add", 0),
            ("rasterize_to_pixels_bwd", 1),
            ("gsplat::rasterize_to_pixels_bwd", 1),
            ("add_all", 2),
            // As c++filt and others print it.
            ("void gsplat::rasterize_to_pixels_bwd<3u, float>(unsigned int, float const*)", 1),
            ("gsplat::rasterize_to_pixels_bwd<3u, float>", 1),
            ("gsplat::rasterize_to_pixels_bwd<3, float>", 1),
            ("rasterize_to_pixels_bwd<(unsigned int)3,float>(unsigned int", 1),
        ] {
            assert_eq!(entry(kernel, &names()), Ok(names()[expected].clone()), "{kernel}");
        }
        let text = |kernel: &str| entry(kernel, &names()).expect_err(kernel).to_string();
        let ambiguous = text("ad");
        assert!(ambiguous.contains("a part of 2 names"), "{ambiguous}");
        assert!(ambiguous.contains("_Z3addPfi (add(float*, int)), add_all"), "{ambiguous}");
        assert!(
            text("mul").starts_with("no entry point is named 'mul': there are _Z3add"),
            "{}",
            text("mul")
        );
        assert!(
            text("rasterize_to_pixels_bwd<4u, float>").contains("no entry point"),
            "another number"
        );
        assert!(text("").contains("no entry point"), "an empty name is a part of all");
    }

    #[test]
    fn a_part_of_a_name_cuts_no_number() {
        let both = ["_Z1fILj3EEvPf", "_Z1fILj32EEvPf"].map(str::to_owned).to_vec();
        for (kernel, expected) in [("f<3", 0), ("f<3u", 0), ("f<32", 1), ("f<(unsigned int)3", 0)] {
            assert_eq!(entry(kernel, &both), Ok(both[expected].clone()), "{kernel}");
        }
        assert!(entry("2>(", &both).is_err(), "it begins within a number");
        assert!(entry("f<3", &both[1..]).is_err(), "another kernel");
        assert!(has_part("f<33,3>", "3>") && !has_part("f<33>", "3>"), "in any of its places");
    }

    #[test]
    fn entry_points_are_found_in_a_text() {
        let text = "// .entry no\n.visible .entry one(\n.weak .entry _Z3two()\n.func three";
        assert_eq!(entries(text), ["one", "_Z3two"], "two of them");
        assert_eq!(entries(".entry "), Vec::<String>::new(), "no name");
    }

    #[test]
    fn structures_lie_as_in_c() {
        let number = |number| Scalar::Number(number, Expression::Integer(0));
        let pointer = Scalar::Pointer(Box::new(Argument::Null));
        let members = [number(Number::U8), number(Number::F64), number(Number::U32), pointer];
        assert_eq!(structure(&members), (vec![0, 8, 16, 24], 32), "aligned, and the end too");
        let inner = Scalar::Struct(vec![number(Number::F64), number(Number::U8)]);
        let outer = [number(Number::U8), inner, number(Number::U8)];
        assert_eq!(structure(&outer), (vec![0, 8, 24], 32), "as a whole within another");
        assert_eq!(structure(&members[2..3]), (vec![0], 4), "a number alone");
    }
}
