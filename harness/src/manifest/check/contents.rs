//! Arrays of a manifest's own: what they hold at first.

use super::Check;
use crate::manifest::text;
use crate::manifest::types::{
    Argument, Contents, Fill, Language, Manifest, Number, PER_TILE, Shape,
};
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;
use splatcheck_workloads::layout::written::At;
use splatcheck_workloads::layout::{Expression, KernelKind};

/// The keys, one of which an array has.
pub(super) const KINDS: &str = "zeros, poison, random, values, iota, scan, cumsum";

impl Check<'_> {
    pub(super) fn contents(
        &self,
        at: &At,
        written: &text::Contents,
    ) -> Result<Option<Contents>, Problem> {
        let text::Contents { zeros, poison, random, values, iota, scan, cumsum } = written;
        let mut found = Vec::new();
        if let Some(zeros) = zeros {
            found.push(Contents { shape: self.shape(zeros, &at.key("zeros"))?, fill: Fill::Zeros });
        }
        if let Some(poison) = poison {
            let shape = self.shape(poison, &at.key("poison"))?;
            found.push(Contents { shape, fill: Fill::Poison });
        }
        if let Some(text::Random { shape, low, high, seed }) = random {
            let (low, high, seed) = (*low, *high, *seed);
            if !(low <= high && low.is_finite() && high.is_finite()) {
                let value = format!("from {low} to {high}");
                return Err(at.key("random").problem(&value, "expected low <= high, finite"));
            }
            let floats = text::Shape { dtype: "f32".to_owned(), shape: shape.clone() };
            let shape = self.shape(&floats, &at.key("random"))?;
            found.push(Contents { shape, fill: Fill::Random { low, high, seed } });
        }
        if let Some(values) = values {
            found.push(self.values(values, &at.key("values"))?);
        }
        if let Some(iota) = iota {
            found.push(self.iota(iota, &at.key("iota"))?);
        }
        if let Some(scan) = scan {
            found.push(self.scan(scan, &at.key("scan"))?);
        }
        if let Some(of) = cumsum {
            // It has as many elements as the other has when it is made.
            let shape = Shape { number: Number::U32, sides: Vec::new() };
            found.push(Contents { shape, fill: Fill::Cumsum(of.clone()) });
        }
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => Err(at.problem(&format!("several of {KINDS}"), "leave one")),
        }
    }

    /// What adds up another array can, when it is asked for.
    pub(super) fn sums(&self, manifest: &Manifest) -> Result<(), Problem> {
        // The first launch that takes a buffer.
        let first = |name: &str| {
            manifest.launches.iter().position(|launch| {
                let mut all = launch.parameters.iter().flat_map(|one| one.argument.pointers());
                all.any(|one| *one == Argument::Named(name.to_owned()))
            })
        };
        let sums = manifest.buffers.iter().filter_map(|(name, contents)| match &contents.fill {
            Fill::Cumsum(of) => Some((name, of)),
            _ => None,
        });
        for (name, of) in sums {
            let problem = |advice: &str| {
                Err(Problem::new(format!("buffer.{name}.cumsum"), quoted(of), advice))
            };
            if self.language == Language::Wgsl {
                return problem(
                    "only programs of CUDA have it: add up in an entry point of your own",
                );
            }
            let Some(source) = manifest.buffers.get(of) else {
                return problem("expected the name of another buffer");
            };
            if source.shape.number.bytes() != 4 || matches!(source.fill, Fill::Cumsum(_)) {
                return problem("expected a buffer of i32 or u32 that launches write");
            }
            if first(of) >= first(name) {
                return problem(
                    "a launch before the first that takes the sums must have written it",
                );
            }
        }
        Ok(())
    }

    fn shape(&self, shape: &text::Shape, at: &At) -> Result<Shape, Problem> {
        let number = number(&shape.dtype, at)?;
        let sides = shape.shape.iter().map(|side| self.integer(side, at));
        Ok(Shape { number, sides: sides.collect::<Result<_, _>>()? })
    }

    fn values(
        &self,
        text::Values { dtype, values }: &text::Values,
        at: &At,
    ) -> Result<Contents, Problem> {
        let number = number(dtype, at)?;
        let value = |value: &Expression| match number {
            Number::F32 | Number::F64 => self.float(value, at),
            Number::U8 | Number::U32 | Number::I32 | Number::U64 | Number::I64 => {
                self.integer(value, at)
            }
        };
        let values: Vec<_> = values.iter().map(value).collect::<Result<_, _>>()?;
        let count = Expression::Integer(i64::try_from(values.len()).unwrap_or(i64::MAX));
        let shape = Shape { number, sides: vec![count] };
        Ok(Contents { shape, fill: Fill::Values(number, values) })
    }

    fn iota(&self, iota: &text::Iota, at: &At) -> Result<Contents, Problem> {
        let number = whole(&iota.dtype, at)?;
        let shape = Shape { number, sides: vec![self.integer(&iota.count, at)?] };
        let [first, step] = [&iota.first, &iota.step].map(|one| self.integer(one, at));
        Ok(Contents { shape, fill: Fill::Iota { number, first: first?, step: step? } })
    }

    fn scan(&self, scan: &text::Scan, at: &At) -> Result<Contents, Problem> {
        let number = whole(&scan.dtype, at)?;
        match self.kind {
            KernelKind::Rasterize | KernelKind::RasterizeBackward => {}
            kind => {
                let value = format!("given for stage {}", kind.name());
                return Err(at.problem(&value, "it adds up over the tiles of a rasterization"));
            }
        }
        if let Expression::Decimal(value) = &scan.of {
            return Err(at.key("of").problem(&value.to_string(), "expected a whole number"));
        }
        let of = self.known(&scan.of, &at.key("of"), &[PER_TILE])?;
        let tiles = Expression::Symbol("T".to_owned());
        let shape = Shape { number, sides: vec![tiles] };
        Ok(Contents { shape, fill: Fill::Scan { number, of, inclusive: scan.inclusive } })
    }
}

/// The type of an array's numbers.
fn number(dtype: &str, at: &At) -> Result<Number, Problem> {
    Ok(match dtype {
        "u8" => Number::U8,
        "i32" => Number::I32,
        "u32" => Number::U32,
        "i64" => Number::I64,
        "u64" => Number::U64,
        "f32" => Number::F32,
        "f64" => Number::F64,
        other => {
            let advice = "expected u8, i32, u32, i64, u64, f32 or f64";
            return Err(at.key("dtype").problem(&quoted(other), advice));
        }
    })
}

/// The same of whole numbers alone.
fn whole(dtype: &str, at: &At) -> Result<Number, Problem> {
    match number(dtype, at)? {
        Number::F32 | Number::F64 => {
            let advice = "expected whole numbers: u8, i32, u32, i64 or u64";
            Err(at.key("dtype").problem(&quoted(dtype), advice))
        }
        whole @ (Number::U8 | Number::I32 | Number::U32 | Number::I64 | Number::U64) => Ok(whole),
    }
}
