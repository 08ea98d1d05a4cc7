//! A case of arrays that somebody has in memory.

use std::collections::BTreeMap;

use splatcheck_judge::io::Problem;
use splatcheck_judge::io::container;
use splatcheck_judge::io::error::quoted;

use super::draw::{Case, CaseProblem, sizes_of_metadata, sizes_of_shapes};
use super::dtype::Values;
use super::manifest::{Manifest, Size};
use super::npz;

impl Case {
    /// The case of these arrays, the bytes of a .safetensors or .npz: inputs, given gradients, and in the metadata sizes
    /// (`size.N`). A size that is not there is what the arrays' shapes say; what arrays do not say either is
    /// drawn from a seed and an index, and so is every array that is not there. There is a case for each
    /// combination of what is swept.
    ///
    /// # Errors
    /// The first array or size that does not fit the manifest, or is not of it.
    pub fn given(
        manifest: &Manifest,
        bytes: &[u8],
        (seed, index): (u64, u64),
    ) -> Result<Vec<Self>, Problem> {
        let bytes = npz::unpacked(manifest, bytes, npz::Others::Refused)?;
        let container = container::parse(&bytes).map_err(npz::neither)?;
        let known = || manifest.inputs.keys().map(String::as_str).chain(manifest.given().map(of));
        if let Some(name) = container.tensors.keys().find(|name| !known().any(|of| of == *name)) {
            let known = known().collect::<Vec<_>>().join(", ");
            let advice = format!("expected one of {known}");
            return Err(Problem::new(quoted(name), "no input and no given gradient", advice));
        }
        let wrong =
            |error: CaseProblem| Problem::new("the case", error.to_string(), "mend it there");
        let mut sizes = Self::drawn_sizes(manifest, (seed, index)).map_err(wrong)?;
        sizes.extend(sizes_of_shapes(manifest, &container));
        let said = sizes_of_metadata(&container)?;
        said.keys().try_for_each(|name| check_size(manifest, name))?;
        sizes.extend(said);
        let case = |setting: BTreeMap<String, i64>| {
            let sizes = sizes.clone().into_iter().chain(setting).collect();
            let mut case = Self::of_sizes(manifest, &sizes, seed, index).map_err(wrong)?;
            for (name, array) in &mut case.arrays {
                if container.tensors.contains_key(name) {
                    let expected = (name.as_str(), array.values.dtype());
                    array.values = Values::read(&container, expected, &array.shape)?;
                }
            }
            Ok(case)
        };
        manifest.settings_at(&sizes).into_iter().map(case).collect()
    }
}

fn of<'m>((_, gradient): (&'m str, &'m str)) -> &'m str {
    gradient
}

/// Whether a size is drawn or swept, so that somebody may say what it is.
fn check_size(manifest: &Manifest, name: &str) -> Result<(), Problem> {
    let is_drawn = |size: &Size| matches!(size, Size::Range { .. });
    if manifest.sizes.get(name).is_some_and(is_drawn) || manifest.sweep.contains_key(name) {
        return Ok(());
    }
    let drawn = manifest.sizes.iter().filter(|(_, size)| is_drawn(size)).map(|(name, _)| name);
    let drawn = drawn.chain(manifest.sweep.keys()).cloned().collect::<Vec<_>>().join(", ");
    let advice = match drawn.is_empty() {
        true => "the manifest draws none, leave it out".to_owned(),
        false => format!("expected one of {drawn}"),
    };
    Err(Problem::new(quoted(name), "no size that is drawn", advice))
}

#[cfg(test)]
mod tests;
