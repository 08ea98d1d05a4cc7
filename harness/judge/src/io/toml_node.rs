//! A parsed TOML document whose every value knows its line and its path.
//!
//! Numbers are kept as the file's text and parsed straight to f32: no rounding to f64 in between.
//! Lines are counted only for a message.

use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::error::{Problem, quoted};
use super::notation::f32_from_bits;

mod fault;
mod places;

pub use places::line_of;
use places::{join, shown_value};

/// How a number that TOML cannot say is written.
pub const NUMBER_ADVICE: &str =
    "expected a finite decimal number or the bits of an f32 as a string such as \"0x3b808081\"";

/// Bytes of the largest TOML that is read. Its values take up to six hundred times as many: a key of two
/// bytes, as in `a.a.a = 1`, is a table of its own.
pub const MOST_TOML: usize = 1 << 20;

/// Parses a document.
pub fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Problem> {
    check_size(text)?;
    DeTable::parse(text).map_err(|error| fault::problem("the TOML", text, &error))
}

/// Reads a file's tables; `what` names the file.
///
/// # Errors
/// What TOML or the tables do not allow, with its line.
pub fn read<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, Problem> {
    check_size(text)?;
    toml::from_str(text).map_err(|error| fault::problem(what, text, &error))
}

fn check_size(text: &str) -> Result<(), Problem> {
    if text.len() <= MOST_TOML {
        return Ok(());
    }
    let advice = format!("at most {MOST_TOML} are read: write a large case as .safetensors");
    Err(Problem::new("the TOML's size", format!("{} bytes", text.len()), advice))
}

/// Reads the value of one key of a file.
///
/// # Errors
/// As [`read`]; a file without the key is refused as an empty table there would be.
pub fn read_key<T: serde::de::DeserializeOwned>(key: &str, text: &str) -> Result<T, Problem> {
    let mut document = parse(text)?;
    let value = document.get_mut().remove(key).unwrap_or_else(empty);
    let read = T::deserialize(ValueDeserializer::from(value));
    read.map_err(|error| fault::problem(key, text, &error))
}

fn empty<'a>() -> Spanned<DeValue<'a>> {
    Spanned::new(0..0, DeValue::Table(DeTable::new()))
}

/// One table.
pub struct Table<'a> {
    text: &'a str,
    path: String,
    start: usize,
    entries: &'a DeTable<'a>,
}

/// One value.
pub struct Node<'a> {
    text: &'a str,
    path: String,
    start: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Table<'a> {
    /// The document's own table.
    pub fn root(text: &'a str, document: &'a Spanned<DeTable<'a>>) -> Self {
        Self { text, path: String::new(), start: 0, entries: document.get_ref() }
    }

    /// A problem with the table itself.
    pub fn problem(&self, field: &str, value: &str, advice: &str) -> Problem {
        let field = join(&self.path, field);
        Problem::new(field, value, advice).at_line(line_of(self.text, self.start))
    }

    /// Refuses keys other than these.
    pub fn allow(&self, allowed: &[&[&str]]) -> Result<(), Problem> {
        for key in self.entries.keys() {
            let name: &str = key.get_ref();
            if !allowed.iter().any(|keys| keys.contains(&name)) {
                let keys = allowed.concat().join(", ");
                let line = line_of(self.text, key.span().start);
                let field = join(&self.path, "key");
                let problem = Problem::new(field, quoted(name), format!("expected {keys}"));
                return Err(problem.at_line(line));
            }
        }
        Ok(())
    }

    /// The value of a key; `None` where there is none.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.entries.get(key)?;
        let path = join(&self.path, key);
        Some(Node { text: self.text, path, start: value.span().start, value: value.get_ref() })
    }

    /// The value of a key.
    ///
    /// # Errors
    /// Where there is none.
    pub fn need(&self, key: &str) -> Result<Node<'a>, Problem> {
        self.get(key).ok_or_else(|| self.problem(key, "missing", "it has no default"))
    }
}

impl<'a> Node<'a> {
    /// A problem with this value.
    pub fn problem(&self, advice: impl Into<String>) -> Problem {
        let line = line_of(self.text, self.start);
        Problem::new(self.path.as_str(), shown_value(self.value), advice).at_line(line)
    }

    /// A problem found by other rules, at this value's line.
    pub fn located(&self, problem: Problem) -> Problem {
        problem.at_line(line_of(self.text, self.start))
    }

    /// It as a table.
    ///
    /// # Errors
    /// Where it is none.
    pub fn table(&self) -> Result<Table<'a>, Problem> {
        let DeValue::Table(entries) = self.value else {
            return Err(self.problem("expected a table"));
        };
        Ok(Table { text: self.text, path: self.path.clone(), start: self.start, entries })
    }

    fn item(&self, index: usize, item: &'a Spanned<DeValue<'a>>) -> Node<'a> {
        let path = format!("{}[{index}]", self.path);
        Node { text: self.text, path, start: item.span().start, value: item.get_ref() }
    }

    /// Its items, as an array.
    ///
    /// # Errors
    /// Where it is none.
    pub fn items(&self) -> Result<impl ExactSizeIterator<Item = Node<'a>>, Problem> {
        let DeValue::Array(items) = self.value else {
            return Err(self.problem("expected an array"));
        };
        Ok(items.iter().enumerate().map(|(index, item)| self.item(index, item)))
    }

    /// It as a string.
    ///
    /// # Errors
    /// Where it is none.
    pub fn string(&self) -> Result<&'a str, Problem> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.problem("expected a string")),
        }
    }

    /// The text of a scalar, for fields that several formats parse alike.
    pub fn scalar_text(&self) -> Result<&'a str, Problem> {
        match self.value {
            DeValue::String(text) => Ok(text),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str()),
            DeValue::Float(number) => Ok(number.as_str()),
            DeValue::Boolean(flag) => Ok(if *flag { "true" } else { "false" }),
            _ => Err(self.problem("expected a decimal number, a string, true or false")),
        }
    }

    /// A whole number that the type holds.
    pub fn whole<T: TryFrom<u64>>(&self) -> Result<T, Problem> {
        let number = match self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.problem("expected a whole number, not negative, in range"))
    }

    /// It as an f32: a number, or the bits of one as a string.
    ///
    /// # Errors
    /// Where it is none.
    pub fn number(&self) -> Result<f32, Problem> {
        number_of(self.value).ok_or_else(|| self.problem(NUMBER_ADVICE))
    }

    /// An array of numbers.
    pub fn numbers(&self) -> Result<Vec<f32>, Problem> {
        let DeValue::Array(items) = self.value else {
            return Err(self.problem("expected an array of numbers"));
        };
        let mut numbers = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match number_of(item.get_ref()) {
                Some(number) => numbers.push(number),
                None => return Err(self.item(index, item).problem(NUMBER_ADVICE)),
            }
        }
        Ok(numbers)
    }

    /// An array of exactly M numbers.
    pub fn numbers_exact<const M: usize>(&self) -> Result<[f32; M], Problem> {
        let numbers = self.numbers()?;
        numbers.try_into().map_err(|_| self.problem(format!("expected {M} numbers")))
    }
}

/// The finite f32 that a value stands for.
pub fn number_of(value: &DeValue<'_>) -> Option<f32> {
    let number: f32 = match value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok()?,
        DeValue::Float(number) => number.as_str().parse().ok()?,
        DeValue::String(text) => f32_from_bits(text)?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
