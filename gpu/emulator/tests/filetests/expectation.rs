//! Reading the lines of a filetest.

use splatcheck_emulator::{Argument, Buffer, DeviceMemory, Module};

/// One line.
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) line: usize,
    /// Absent where the file itself is at fault.
    pub(crate) invocation: Option<Invocation>,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Words(Vec<u32>),
    Error(String),
}

/// A launch as written.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) kernel: String,
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    arguments: Vec<Written>,
}

#[derive(Debug)]
enum Written {
    Number(u64),
    Buffer(Vec<u32>),
    Out(Option<Vec<u32>>),
}

impl Invocation {
    /// The arguments, and the buffer called `out`, of `length` words if it is never written.
    pub(crate) fn arguments(
        &self,
        module: &Module,
        memory: &mut DeviceMemory,
        length: usize,
    ) -> (Vec<Argument>, Option<Buffer>) {
        let sizes = module.parameter_sizes(&self.kernel).unwrap_or_default();
        let mut out = None;
        let mut arguments = Vec::new();
        for (index, written) in self.arguments.iter().enumerate() {
            let bytes =
                |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
            arguments.push(match written {
                Written::Number(value) => {
                    let size = sizes.get(index).map_or(4, |&size| size as usize).min(8);
                    Argument::bytes(&value.to_le_bytes()[..size])
                }
                Written::Buffer(words) => memory.upload(&bytes(words)).into(),
                Written::Out(initial) => {
                    let buffer = match initial {
                        Some(words) => memory.upload(&bytes(words)),
                        None => memory.allocate(4 * length),
                    };
                    out = Some(buffer);
                    buffer.into()
                }
            });
        }
        (arguments, out)
    }
}

/// All expectations of a file.
pub(crate) fn parse_file(source: &str) -> Result<Vec<Expectation>, String> {
    let (mut blocks, mut threads) = (1, 1);
    let mut all = Vec::new();
    for (index, text) in source.lines().enumerate() {
        let line = index + 1;
        let at = |message: String| format!("line {line}: {message}");
        if let Some(shape) = text.strip_prefix("// launch: ") {
            let sizes = shape.split_once(" x ").ok_or_else(|| at("expected B x T".to_owned()))?;
            blocks = sizes.0.trim().parse().map_err(|_| at("not a number".to_owned()))?;
            threads = sizes.1.trim().parse().map_err(|_| at("not a number".to_owned()))?;
        } else if let Some(run) = text.strip_prefix("// run: ") {
            let (call, expected) =
                run.split_once(" == ").ok_or_else(|| at("expected ==".to_owned()))?;
            let invocation = Some(parse_call(call, blocks, threads).map_err(at)?);
            let outcome = Outcome::Words(parse_words(expected).map_err(at)?);
            all.push(Expectation { line, invocation, outcome });
        } else if let Some(error) = text.strip_prefix("// error: ") {
            let (invocation, message) = match error.split_once("): ") {
                Some((call, message)) if call.contains('(') => {
                    let call = format!("{call})");
                    (Some(parse_call(&call, blocks, threads).map_err(at)?), message)
                }
                _ => (None, error),
            };
            let outcome = Outcome::Error(message.trim().to_owned());
            all.push(Expectation { line, invocation, outcome });
        }
    }
    Ok(all)
}

fn parse_call(call: &str, blocks: u32, threads: u32) -> Result<Invocation, String> {
    let (kernel, rest) = call.split_once('(').ok_or("expected (")?;
    let inside = rest.trim_end().strip_suffix(')').ok_or("expected )")?;
    let mut arguments = Vec::new();
    for argument in split(inside) {
        arguments.push(if argument == "out" {
            Written::Out(None)
        } else if let Some(words) = argument.strip_prefix("out[") {
            Written::Out(Some(parse_words(&format!("[{words}"))?))
        } else if argument.starts_with('[') {
            Written::Buffer(parse_words(argument)?)
        } else {
            Written::Number(number(argument)?)
        });
    }
    Ok(Invocation { kernel: kernel.trim().to_owned(), blocks, threads, arguments })
}

/// Splits at the commas outside brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn parse_words(text: &str) -> Result<Vec<u32>, String> {
    let text = text.trim();
    let inside = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    let mut words = Vec::new();
    for element in split(inside) {
        let (value, count) = match element.split_once(" * ") {
            Some((value, count)) => (value, count.parse().map_err(|_| "a bad count")?),
            None => (element, 1),
        };
        let word = number(value)?;
        let word = u32::try_from(word)
            .or_else(|_| i32::try_from(word.cast_signed()).map(i32::cast_unsigned))
            .map_err(|_| format!("{value} is not a word"))?;
        words.extend(std::iter::repeat_n(word, count));
    }
    Ok(words)
}

/// An integer in two's complement, or the bits of an f32.
fn number(text: &str) -> Result<u64, String> {
    let bad = || format!("'{text}' is not a number");
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let sign = u32::from(negative) << 31;
    match magnitude {
        "inf" => return Ok(u64::from(0x7f80_0000 | sign)),
        "nan" => return Ok(0x7fff_ffff),
        _ => {}
    }
    let value = match magnitude.strip_prefix("0x") {
        Some(hex) if hex.contains('p') => {
            return Ok(u64::from(hex_float(hex).ok_or_else(bad)?.to_bits() | sign));
        }
        Some(hex) => u64::from_str_radix(hex, 16).map_err(|_| bad())?,
        None => magnitude.parse().map_err(|_| bad())?,
    };
    Ok(if negative { value.wrapping_neg() } else { value })
}

/// `1.8p+1`: exact, or nothing.
fn hex_float(text: &str) -> Option<f32> {
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let scale = exponent - 4 * i32::try_from(fraction.len()).ok()?;
    let exact = digits as f64 * 2.0_f64.powi(scale);
    #[expect(clippy::cast_possible_truncation, reason = "checked to be exact")]
    let value = exact as f32;
    (f64::from(value) == exact && digits < 1 << 53).then_some(value)
}
