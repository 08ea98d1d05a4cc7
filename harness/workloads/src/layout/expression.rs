//! Numbers of a manifest as expressions over the sizes of a case: `"ceil_div(M, 32)"`,
//! `"256 * (4 + 8 + 12)"`.
//!
//! Whole numbers with `+ - * / %` (division rounds toward zero), parentheses, `ceil_div(a, b)`,
//! `min(a, ...)` and `max(a, ...)`, in 64 bits; nothing wraps around. Where a float is asked for, decimal
//! numbers and the constants of the convention are allowed as well, and `/` divides floats.

use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

use serde::de::{Deserialize, Deserializer, Visitor};

/// The longest expression: it bounds how deep one is nested.
const LONGEST: usize = 500;

/// A number, or how it is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A whole number.
    Integer(i64),
    /// A decimal number.
    Decimal(f64),
    /// A size or a constant by its name.
    Symbol(String),
    /// The negative of a number.
    Negative(Box<Self>),
    /// Two numbers and what is done with them.
    Binary(Operator, Box<[Self; 2]>),
    /// A function of numbers.
    Call(Function, Vec<Self>),
}

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Their sum.
    Add,
    /// The first without the second.
    Subtract,
    /// Their product.
    Multiply,
    /// The first divided by the second.
    Divide,
    /// What a division leaves.
    Remainder,
}

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// A quotient, rounded up.
    CeilDiv,
    /// The least.
    Min,
    /// The largest.
    Max,
}

/// Why a text is no expression, or has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExpressionError(String);

impl ExpressionError {
    /// A name that means nothing among those that there are.
    pub fn unknown(name: &str, known: &str) -> Self {
        let known = match known {
            "" => "no name is".to_owned(),
            known => format!("there are {known}"),
        };
        Self(format!("'{name}' is not known here: {known}"))
    }

    /// A result outside 64 bits.
    pub(crate) fn overflow() -> Self {
        Self("a number does not fit in 64 bits".to_owned())
    }

    fn division_by_zero() -> Self {
        Self("a division by 0".to_owned())
    }
}

impl Expression {
    /// Reads a text.
    ///
    /// # Errors
    /// [`ExpressionError`]: what was expected where.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > LONGEST {
            let length = text.len();
            return Err(ExpressionError(format!(
                "an expression has at most {LONGEST} characters, this one has {length}"
            )));
        }
        let mut parser = Parser { text, rest: text.char_indices().peekable() };
        let expression = parser.sum()?;
        parser.end(expression)
    }

    /// Its value as a whole number; `symbols` gives that of a name.
    ///
    /// # Errors
    /// [`ExpressionError`]: a name that is unknown, a division by 0, a number beyond 64 bits.
    pub fn integer(
        &self,
        symbols: &dyn Fn(&str) -> Result<i64, ExpressionError>,
    ) -> Result<i64, ExpressionError> {
        let of = |one: &Self| one.integer(symbols);
        let checked = |value: Option<i64>| value.ok_or_else(ExpressionError::overflow);
        match self {
            Self::Integer(value) => Ok(*value),
            Self::Decimal(value) => Err(ExpressionError(format!("{value} is no whole number"))),
            Self::Symbol(name) => symbols(name),
            Self::Negative(one) => checked(of(one)?.checked_neg()),
            Self::Binary(operator, both) => {
                let (a, b) = (of(&both[0])?, of(&both[1])?);
                match operator {
                    Operator::Add => checked(a.checked_add(b)),
                    Operator::Subtract => checked(a.checked_sub(b)),
                    Operator::Multiply => checked(a.checked_mul(b)),
                    Operator::Divide | Operator::Remainder if b == 0 => {
                        Err(ExpressionError::division_by_zero())
                    }
                    Operator::Divide => checked(a.checked_div(b)),
                    Operator::Remainder => checked(a.checked_rem(b)),
                }
            }
            Self::Call(function, arguments) => {
                let values = arguments.iter().map(of).collect::<Result<Vec<_>, _>>()?;
                match function {
                    Function::CeilDiv => ceil_div(values[0], values[1]),
                    Function::Min => checked(values.into_iter().min()),
                    Function::Max => checked(values.into_iter().max()),
                }
            }
        }
    }

    /// Its value as a float; `symbols` gives that of a name.
    ///
    /// # Errors
    /// [`ExpressionError`]: a name that is unknown.
    pub fn float(
        &self,
        symbols: &dyn Fn(&str) -> Result<f64, ExpressionError>,
    ) -> Result<f64, ExpressionError> {
        let of = |one: &Self| one.float(symbols);
        match self {
            #[expect(clippy::cast_precision_loss, reason = "a float is what is asked for")]
            Self::Integer(value) => Ok(*value as f64),
            Self::Decimal(value) => Ok(*value),
            Self::Symbol(name) => symbols(name),
            Self::Negative(one) => Ok(-of(one)?),
            Self::Binary(operator, both) => {
                let (a, b) = (of(&both[0])?, of(&both[1])?);
                Ok(match operator {
                    Operator::Add => a + b,
                    Operator::Subtract => a - b,
                    Operator::Multiply => a * b,
                    Operator::Divide => a / b,
                    Operator::Remainder => a % b,
                })
            }
            Self::Call(function, arguments) => {
                let values = arguments.iter().map(of).collect::<Result<Vec<_>, _>>()?;
                Ok(match function {
                    Function::CeilDiv => (values[0] / values[1]).ceil(),
                    Function::Min => values.into_iter().fold(f64::INFINITY, f64::min),
                    Function::Max => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
                })
            }
        }
    }

    /// The names in it.
    pub fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Integer(_) | Self::Decimal(_) => {}
            Self::Symbol(name) => names.push(name),
            Self::Negative(one) => one.names(names),
            Self::Binary(_, both) => both.iter().for_each(|one| one.names(names)),
            Self::Call(_, arguments) => arguments.iter().for_each(|one| one.names(names)),
        }
    }
}

/// A quotient of whole numbers, rounded up.
fn ceil_div(a: i64, b: i64) -> Result<i64, ExpressionError> {
    if b == 0 {
        return Err(ExpressionError::division_by_zero());
    }
    let (quotient, rest) =
        a.checked_div(b).zip(a.checked_rem(b)).ok_or_else(ExpressionError::overflow)?;
    // Toward zero is up already where the exact quotient is negative.
    let up = rest != 0 && (rest > 0) == (b > 0);
    quotient.checked_add(i64::from(up)).ok_or_else(ExpressionError::overflow)
}

struct Parser<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
}

impl Parser<'_> {
    fn wrong<T>(&mut self, expected: &'static str) -> Result<T, ExpressionError> {
        let at = self.rest.peek().map_or(self.text.len(), |&(at, _)| at);
        let at = self.text[..at].chars().count() + 1;
        let text = self.text;
        Err(ExpressionError(format!("expected {expected} at character {at} of '{text}'")))
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        while self.rest.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        self.rest.peek().map(|&(_, c)| c)
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.peek() == Some(wanted) && self.rest.next().is_some()
    }

    fn end(mut self, expression: Expression) -> Result<Expression, ExpressionError> {
        match self.peek() {
            None => Ok(expression),
            Some(_) => self.wrong("+, -, *, /, % or the end"),
        }
    }

    fn sum(&mut self) -> Result<Expression, ExpressionError> {
        let mut first = self.product()?;
        while let Some(operator) = match self.peek() {
            Some('+') => Some(Operator::Add),
            Some('-') => Some(Operator::Subtract),
            Some(_) | None => None,
        } {
            self.rest.next();
            first = Expression::Binary(operator, Box::new([first, self.product()?]));
        }
        Ok(first)
    }

    fn product(&mut self) -> Result<Expression, ExpressionError> {
        let mut first = self.factor()?;
        while let Some(operator) = match self.peek() {
            Some('*') => Some(Operator::Multiply),
            Some('/') => Some(Operator::Divide),
            Some('%') => Some(Operator::Remainder),
            Some(_) | None => None,
        } {
            self.rest.next();
            first = Expression::Binary(operator, Box::new([first, self.factor()?]));
        }
        Ok(first)
    }

    fn factor(&mut self) -> Result<Expression, ExpressionError> {
        match self.peek() {
            Some('-') => {
                self.rest.next();
                Ok(Expression::Negative(Box::new(self.factor()?)))
            }
            Some('(') => {
                self.rest.next();
                let inner = self.sum()?;
                if self.takes(')') { Ok(inner) } else { self.wrong("')'") }
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            Some(_) | None => self.wrong("a number, a name or '('"),
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some((_, c)) = self.rest.next_if(|&(_, c)| belongs(c)) {
            word.push(c);
        }
        word
    }

    fn number(&mut self) -> Result<Expression, ExpressionError> {
        let mut word = self.word(|c| c.is_ascii_digit() || c == '.');
        if self.rest.next_if(|&(_, c)| c == 'e' || c == 'E').is_some() {
            word.push('e');
            if let Some((_, sign)) = self.rest.next_if(|&(_, c)| c == '-' || c == '+') {
                word.push(sign);
            }
            word += &self.word(|c| c.is_ascii_digit());
        }
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return word.parse().map(Expression::Integer).map_err(|_| ExpressionError::overflow());
        }
        match word.parse() {
            Ok(value) => Ok(Expression::Decimal(value)),
            Err(_) => self.wrong("a number before this"),
        }
    }

    fn name(&mut self) -> Result<Expression, ExpressionError> {
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        if !self.takes('(') {
            return Ok(Expression::Symbol(name));
        }
        let function = match name.as_str() {
            "ceil_div" => Function::CeilDiv,
            "min" => Function::Min,
            "max" => Function::Max,
            _ => return self.wrong("ceil_div, min or max before '('"),
        };
        let mut arguments = vec![self.sum()?];
        while self.takes(',') {
            arguments.push(self.sum()?);
        }
        if !self.takes(')') {
            return self.wrong("',' or ')'");
        }
        if function == Function::CeilDiv && arguments.len() != 2 {
            let text = self.text;
            return Err(ExpressionError(format!("ceil_div takes two numbers in '{text}'")));
        }
        Ok(Expression::Call(function, arguments))
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = Expression;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or an expression as a text such as \"ceil_div(W, 16)\"")
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Expression, E> {
                Ok(Expression::Integer(value))
            }

            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Expression, E> {
                Ok(Expression::Decimal(value))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Expression, E> {
                Expression::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn symbols(name: &str) -> Result<i64, ExpressionError> {
        match name {
            "W" => Ok(33),
            "M" => Ok(i64::MAX),
            _ => Err(ExpressionError::unknown(name, "W, M")),
        }
    }

    fn value(text: &str) -> Result<i64, String> {
        let parsed = Expression::parse(text).and_then(|one| one.integer(&symbols));
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_are_computed_as_in_c() {
        for (text, expected) in [
            ("256 * (4 + 8 + 12 + 12)", 9216),
            ("ceil_div(W, 16)", 3),
            ("ceil_div(-W, 16)", -2),
            ("ceil_div(W, -16)", -2),
            ("2 + 3 * 4 - 10 / 3 % 2", 13),
            ("-(W - 1) / 2", -16),
            ("min(W, 7, 9) + max(1, W)", 40),
            (" 7 ", 7),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn floats_know_constants_and_decimals() {
        let constants = |name: &str| match name {
            "alpha_max" => Ok(0.5),
            _ => Ok(8.0),
        };
        for (text, expected) in
            [("alpha_max", 0.5), ("0.5 * W", 4.0), ("1 / 4", 0.25), ("-1.5e-3", -1.5e-3)]
        {
            let parsed = Expression::parse(text).expect("an expression");
            assert_eq!(parsed.float(&constants), Ok(expected), "{text}");
        }
    }

    #[test]
    fn where_there_are_no_names_none_is_offered() {
        let error = ExpressionError::unknown("N", "").to_string();
        assert_eq!(error, "'N' is not known here: no name is");
    }

    #[test]
    fn what_is_no_number_is_said_with_its_place() {
        for (text, expected) in [
            ("", "expected a number, a name or '(' at character 1"),
            ("1 +", "expected a number, a name or '(' at character 4"),
            ("(1", "expected ')' at character 3"),
            ("1 2", "expected +, -, *, /, % or the end at character 3"),
            ("half(3)", "expected ceil_div, min or max before '('"),
            ("ceil_div(3)", "ceil_div takes two numbers"),
            ("min(1;2)", "expected ',' or ')' at character 6"),
            ("1.2.3", "expected a number before this"),
            ("0.5 * W", "0.5 is no whole number"),
            ("Q", "'Q' is not known here: there are W, M"),
            ("W / (W - 33)", "a division by 0"),
            ("W % 0", "a division by 0"),
            ("ceil_div(1, 0)", "a division by 0"),
            ("M + 1", "a number does not fit in 64 bits"),
            ("-(0 - M - 1)", "a number does not fit in 64 bits"),
            ("(0 - M - 1) / -1", "a number does not fit in 64 bits"),
            ("99999999999999999999", "a number does not fit in 64 bits"),
            ("§", "at character 1"),
        ] {
            let error = value(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
        let deep = "(".repeat(LONGEST + 1);
        assert!(value(&deep).expect_err("too long").contains("at most 500"), "its length");
        assert!(value(&"(".repeat(LONGEST)).is_err(), "it is not closed, and no stack overflows");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9WMNce_il.dv(),+*/% -]{0,40}|.{0,20}") {
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.integer(&symbols);
                let _ = expression.float(&|_| Ok(0.5));
            }
        }
    }
}
