//! `cameras.bin` and `images.bin`: little-endian, a count of 64 bits first. Nothing is reserved by a count.

use super::model::{Cameras, Image, MODELS, Shared};
use splatcheck_judge::io::error::{Problem, quoted};
use splatcheck_judge::words::count;

/// Bytes of a point of an image: two f64 and a 64-bit number.
const POINT: u64 = 24;

/// The bytes that have not been read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: u64, what: &str) -> Result<&'a [u8], Problem> {
        let cut = usize::try_from(count).ok().and_then(|count| self.0.split_at_checked(count));
        let Some((taken, rest)) = cut else {
            let advice = "the file is truncated or no file of COLMAP";
            return Err(Problem::new(what, "missing", advice));
        };
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Problem> {
        let bytes = self.take(N as u64, what)?;
        Ok(bytes.first_chunk().copied().unwrap_or([0; N]))
    }

    fn u32(&mut self, what: &str) -> Result<u32, Problem> {
        self.array(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64, Problem> {
        self.array(what).map(u64::from_le_bytes)
    }

    fn f64(&mut self, what: &str) -> Result<f64, Problem> {
        self.array(what).map(f64::from_le_bytes)
    }

    /// That nothing is left.
    fn end(&self) -> Result<(), Problem> {
        match self.0.len() {
            0 => Ok(()),
            left => {
                let advice = "the count at its beginning is of less";
                Err(Problem::new("the end of the file", count(left, "byte") + " on", advice))
            }
        }
    }
}

pub(super) fn cameras(bytes: &[u8]) -> Result<Cameras, Problem> {
    let mut rest = Rest(bytes);
    let mut all = Cameras::new();
    for index in 0..rest.u64("the number of cameras")? {
        let of = |what: &str| format!("cameras[{index}] {what}");
        let id = rest.u32(&of("CAMERA_ID"))?;
        let number = rest.u32(&of("MODEL"))?;
        let Some(model) = usize::try_from(number).ok().and_then(|number| MODELS.get(number)) else {
            let advice = format!("0 to {} are known", MODELS.len() - 1);
            return Err(Problem::new(of("MODEL"), number, advice));
        };
        let size = [rest.u64(&of("WIDTH"))?, rest.u64(&of("HEIGHT"))?];
        let parameters = (0..model.1).map(|_| rest.f64(&of("PARAMS")));
        let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
        all.insert(id, Shared { model, size, parameters });
    }
    rest.end()?;
    Ok(all)
}

pub(super) fn images(bytes: &[u8]) -> Result<Vec<Image>, Problem> {
    let mut rest = Rest(bytes);
    let mut all = Vec::new();
    for index in 0..rest.u64("the number of images")? {
        let of = |what: &str| format!("images[{index}] {what}");
        rest.u32(&of("IMAGE_ID"))?;
        let mut pose = [0.0; 7];
        for number in &mut pose {
            *number = rest.f64(&of("pose"))?;
        }
        let camera = rest.u32(&of("CAMERA_ID"))?;
        let length = rest.0.iter().position(|&byte| byte == 0).unwrap_or(rest.0.len());
        let name = rest.take(length as u64, &of("NAME"))?;
        let Ok(name) = str::from_utf8(name) else {
            let value = quoted(&String::from_utf8_lossy(name));
            return Err(Problem::new(of("NAME"), value, "expected UTF-8"));
        };
        rest.take(1, &of("NAME"))?;
        let points = rest.u64(&of("the number of points"))?;
        rest.take(points.saturating_mul(POINT), &of("points"))?;
        all.push(Image { name: name.to_owned(), pose, camera });
    }
    rest.end()?;
    Ok(all)
}
