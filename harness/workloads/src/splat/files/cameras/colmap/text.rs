//! `cameras.txt` and `images.txt`.

use std::str::FromStr;

use super::model::{Cameras, Image, MODELS, Model, Shared};
use splatcheck_judge::io::error::{Problem, quoted};

/// Lines of `CAMERA_ID MODEL WIDTH HEIGHT PARAMS...`.
pub(super) fn cameras(text: &str) -> Result<Cameras, Problem> {
    let mut all = Cameras::new();
    for (number, line) in lines(text) {
        let shared = camera(line).map_err(|problem| problem.at_line(number))?;
        all.insert(shared.0, shared.1);
    }
    Ok(all)
}

fn camera(line: &str) -> Result<(u32, Shared), Problem> {
    let mut words = line.split_ascii_whitespace();
    let id = word(&mut words, "CAMERA_ID")?;
    let name = words.next().unwrap_or_default();
    let Some(model) = MODELS.iter().find(|Model(known, ..)| *known == name) else {
        let known = MODELS.map(|Model(name, ..)| name).join(", ");
        return Err(Problem::new("MODEL", quoted(name), format!("expected one of {known}")));
    };
    let size = [word(&mut words, "WIDTH")?, word(&mut words, "HEIGHT")?];
    let parameters = (0..model.1).map(|at| word(&mut words, &format!("PARAMS[{at}]")));
    let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
    if words.next().is_some() {
        let advice = format!("{name} has {} parameters", model.1);
        return Err(Problem::new("the line", "too long", advice));
    }
    Ok((id, Shared { model, size, parameters }))
}

/// Pairs of lines: `IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME`, and the image's points, perhaps none.
pub(super) fn images(text: &str) -> Result<Vec<Image>, Problem> {
    let mut all = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if is_blank(line) {
            continue;
        }
        all.push(image(line).map_err(|problem| problem.at_line(number + 1))?);
        // The points, which may be an empty line.
        lines.next();
    }
    Ok(all)
}

fn image(line: &str) -> Result<Image, Problem> {
    // A name may have spaces in it.
    let mut words = line.trim_start().splitn(10, ' ');
    word::<u32>(&mut words, "IMAGE_ID")?;
    let mut pose = [0.0; 7];
    for (number, field) in pose.iter_mut().zip(["QW", "QX", "QY", "QZ", "TX", "TY", "TZ"]) {
        *number = word(&mut words, field)?;
    }
    let camera = word(&mut words, "CAMERA_ID")?;
    let name = words.next().unwrap_or_default().trim();
    if name.is_empty() {
        return Err(Problem::new("NAME", "missing", "every image has a name"));
    }
    Ok(Image { name: name.to_owned(), pose, camera })
}

fn word<'t, T: FromStr>(
    words: &mut impl Iterator<Item = &'t str>,
    field: &str,
) -> Result<T, Problem> {
    let Some(word) = words.next() else {
        return Err(Problem::new(field, "missing", "the line ends before it"));
    };
    word.parse().map_err(|_| Problem::new(field, quoted(word), "expected a number"))
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

/// The lines that are no comments, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter(|(_, line)| !is_blank(line)).map(|(at, line)| (at + 1, line))
}
