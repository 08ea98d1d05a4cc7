//! What is built into a kernel: sizes that it is compiled for, and fields of its workload that it has in one
//! form alone. Such a kernel is judged on cases that have them.

use std::fmt;

use crate::io::error::{Problem, quoted};

/// A size or field of a workload that may be built into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its symbol, or its name.
    pub name: &'static str,
    /// The values that it may have.
    pub values: Values,
    /// Numbers of a case that mean something only to kernels that it is built into.
    pub numbers: &'static [&'static str],
}

impl Constant {
    /// One of which no numbers follow.
    #[must_use]
    pub const fn new(name: &'static str, values: Values) -> Self {
        Self { name, values, numbers: &[] }
    }
}

/// The values of a [`Constant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// These names; each stands for its place.
    Named(&'static [&'static str]),
    /// These sizes.
    Sizes(&'static [usize]),
    /// Any size from 1 to this one.
    UpTo(usize),
}

impl Values {
    /// The number that stands for what is written.
    fn read(self, written: &str) -> Option<usize> {
        match self {
            Self::Named(names) => names.iter().position(|known| *known == written),
            Self::Sizes(sizes) => written.parse().ok().filter(|size| sizes.contains(size)),
            Self::UpTo(most) => written.parse().ok().filter(|size| (1..=most).contains(size)),
        }
    }
}

/// What would do.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(names) => {
                let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
                f.write_str(&names.join(" or "))
            }
            Self::Sizes(sizes) => {
                let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
                f.write_str(&sizes.join(" or "))
            }
            Self::UpTo(most) => write!(f, "1 to {most}"),
        }
    }
}

/// What is built into a kernel: constants with the numbers that stand for their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltIn(Vec<(Constant, usize)>);

impl BuiltIn {
    /// What a table of names and values says, of a workload with these constants.
    ///
    /// # Errors
    /// A name or a value that is none.
    pub fn read(table: &toml::Table, known: &[Constant]) -> Result<Self, Problem> {
        let text = |value: &toml::Value| match value {
            toml::Value::String(name) => name.clone(),
            other => other.to_string(),
        };
        let texts: Vec<_> = table.iter().map(|(name, value)| (name, text(value))).collect();
        let pairs = texts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Self::default().with(pairs, known)
    }

    /// With more constants, each a name and a value; they go before others of their names.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn with<'c>(
        mut self,
        constants: impl IntoIterator<Item = (&'c str, &'c str)>,
        known: &[Constant],
    ) -> Result<Self, Problem> {
        for (name, written) in constants {
            let found = known.iter().find(|constant| constant.name == name);
            let constant = found.ok_or_else(|| {
                let names: Vec<_> = known.iter().map(|constant| constant.name).collect();
                let advice = match names[..] {
                    [] => "the workload has none: leave it out".to_owned(),
                    _ => format!("there are {}", names.join(", ")),
                };
                Problem::new("constants", quoted(name), advice)
            })?;
            let value = constant.values.read(written).ok_or_else(|| {
                let advice = format!("expected {}", constant.values);
                Problem::new(format!("constants.{name}"), quoted(written), advice)
            })?;
            self.0.retain(|(other, _)| other != constant);
            self.0.push((*constant, value));
        }
        Ok(self)
    }

    /// Whether a kernel is for any case.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The constants, each with the number that stands for its value.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        self.0.iter().map(|(constant, value)| (constant.name, *value))
    }
}

/// The constants as files have them, a comma between them.
impl fmt::Display for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |(constant, value): &(Constant, usize)| match constant.values {
            Values::Named(names) => {
                let name = names.get(*value).copied().unwrap_or_default();
                format!("{} = {name}", constant.name)
            }
            Values::Sizes(_) | Values::UpTo(_) => format!("{} = {value}", constant.name),
        };
        let all: Vec<_> = self.0.iter().map(one).collect();
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Constant; 3] = [
        Constant::new("d", Values::UpTo(4)),
        Constant::new("F", Values::Sizes(&[1, 2, 4, 8])),
        Constant::new("hash", Values::Named(&["prime", "rolling"])),
    ];

    fn read(text: &str) -> Result<BuiltIn, String> {
        BuiltIn::read(&text.parse().expect("TOML"), &KNOWN).map_err(|problem| problem.to_string())
    }

    #[test]
    fn constants_have_the_values_that_there_are() {
        let built_in = read("d = 3\nhash = \"rolling\"\nF = 2").expect("all are known");
        let mut found: Vec<_> = built_in.iter().collect();
        found.sort_unstable();
        assert_eq!(found, [("F", 2), ("d", 3), ("hash", 1)], "a name stands for its place");
        assert!(built_in.to_string().contains("hash = rolling"), "{built_in}");
        let again = built_in.with([("d", "2")], &KNOWN).expect("known");
        assert!(again.to_string().contains("d = 2") && again.iter().count() == 3, "{again}");
        assert!(read("").expect("none").is_empty(), "any case");
        for (text, expected) in [
            ("D = 3", "constants is 'D': there are d, F, hash"),
            ("d = 5", "constants.d is '5': expected 1 to 4"),
            ("d = 0", "constants.d is '0': expected 1 to 4"),
            ("F = 3", "constants.F is '3': expected 1 or 2 or 4 or 8"),
            ("hash = \"xor\"", "expected 'prime' or 'rolling'"),
            ("hash = 0", "expected 'prime' or 'rolling'"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
