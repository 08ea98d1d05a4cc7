//! One camera's JSON object, and how messages call it.

use serde_json::{Map, Value};

use splatcheck_judge::io::error::{Problem, quoted};
use splatcheck_judge::io::notation;

/// One camera's object.
pub(super) struct Entry<'a> {
    /// How messages call it.
    pub(super) place: String,
    pub(super) map: &'a Map<String, Value>,
    /// What holds for all cameras of the file, where the camera's own object does not say it.
    pub(super) usual: Option<&'a Map<String, Value>>,
}

impl<'a> Entry<'a> {
    /// An object that is one.
    pub(super) fn new(place: String, value: &'a Value) -> Result<Self, Problem> {
        match value.as_object() {
            Some(map) => Ok(Self { place, map, usual: None }),
            None => Err(Problem::new(place, shown(value), "expected an object")),
        }
    }

    pub(super) fn problem(
        &self,
        field: &str,
        value: impl std::fmt::Display,
        advice: &str,
    ) -> Problem {
        Problem::new(format!("{} {field}", self.place), value, advice)
    }

    /// A field, unless it is null.
    pub(super) fn get(&self, field: &str) -> Option<&'a Value> {
        let value = self.map.get(field).or_else(|| self.usual?.get(field));
        value.filter(|value| !value.is_null())
    }

    pub(super) fn need(&self, field: &str) -> Result<&'a Value, Problem> {
        self.get(field).ok_or_else(|| self.problem(field, "missing", "every camera has it"))
    }

    /// A text that is not blank, by which messages call the camera from now on.
    pub(super) fn name(&mut self, field: &str) -> Result<String, Problem> {
        let name = match self.need(field)? {
            Value::String(name) if !name.trim().is_empty() => name.clone(),
            other => return Err(self.problem(field, shown(other), "expected a text")),
        };
        self.place = format!("camera {}", quoted(&name));
        Ok(name)
    }

    /// A number of pixels; some programs write 640.0.
    pub(super) fn side(&self, field: &str) -> Result<u32, Problem> {
        let value = self.need(field)?;
        let whole = value.as_f64().filter(|side| side.fract() == 0.0 && *side >= 0.0);
        let side = whole.map(|side| side.min(f64::from(u32::MAX)));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is in range"
        )]
        let side = side.map(|side| side as u32);
        side.ok_or_else(|| self.problem(field, shown(value), "expected a whole number of pixels"))
    }

    /// A number of a field, which an f32 can hold.
    fn of(&self, field: &str, value: &Value) -> Result<f64, Problem> {
        let number = value.as_f64().filter(|&number| notation::round(number).is_finite());
        number.ok_or_else(|| self.problem(field, shown(value), "expected a number within f32"))
    }

    pub(super) fn number(&self, field: &str) -> Result<f64, Problem> {
        self.of(field, self.need(field)?)
    }

    /// A list of `N` numbers.
    pub(super) fn numbers<const N: usize>(&self, field: &str) -> Result<[f64; N], Problem> {
        self.list(field, self.need(field)?)
    }

    fn list<const N: usize>(&self, field: &str, value: &Value) -> Result<[f64; N], Problem> {
        let items = value.as_array().filter(|items| items.len() == N);
        let Some(items) = items else {
            return Err(self.problem(field, shown(value), &format!("expected {N} numbers")));
        };
        let mut numbers = [0.0; N];
        for (index, (number, value)) in numbers.iter_mut().zip(items).enumerate() {
            *number = self.of(&format!("{field}[{index}]"), value)?;
        }
        Ok(numbers)
    }

    /// Rows of numbers.
    pub(super) fn matrix<const N: usize>(&self, field: &str) -> Result<[[f64; N]; N], Problem> {
        let value = self.need(field)?;
        let rows = value.as_array().filter(|rows| rows.len() == N);
        let Some(rows) = rows else {
            let advice = format!("expected {N} rows of {N} numbers");
            return Err(self.problem(field, shown(value), &advice));
        };
        let mut matrix = [[0.0; N]; N];
        for (index, (row, value)) in matrix.iter_mut().zip(rows).enumerate() {
            *row = self.list(&format!("{field}[{index}]"), value)?;
        }
        Ok(matrix)
    }
}

/// A JSON value in a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
