//! From what is written in a manifest to what it means: every key is checked where it stands.

mod accessor;
mod contents;
mod halves;
mod launch;
mod parameter;
mod tiles;
mod views;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;

use self::contents::KINDS;
use super::text::File;
use crate::manifest::types::{Argument, Language, Manifest, Parameter, Presets, Start};
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;
use splatcheck_judge::workload::{BuiltIn, Constant};
use splatcheck_workloads::layout::held::held_twice;
use splatcheck_workloads::layout::packed::LIST;
use splatcheck_workloads::layout::symbols::{self, OF_CAMERA, OF_CAMERA_AND_IMAGE, instead_of};
use splatcheck_workloads::layout::written::{At, beyond, line};
use splatcheck_workloads::layout::{Array, Expression, KernelKind, Rows, Tensor};
use splatcheck_workloads::presets::{Preset, Terms, built_in_of, constants_of};
use splatcheck_workloads::splat::CameraForms;
use splatcheck_workloads::splat::kernel_rules::{Fields, KernelRules};
use splatcheck_workloads::splat::level::Level;

/// Checks a manifest's text.
///
/// # Errors
/// The first thing that is wrong: where, what, and what would be right.
pub(super) fn manifest(
    text: &str,
    language: Language,
    presets: Presets<'_>,
) -> Result<Manifest, Problem> {
    let mut file = File::parse(text)?;
    let kind = kind(&file, text)?;
    let (own, built_in) = (names_of_sizes(&file, kind)?, built_in(&file, text, kind)?);
    let tile_size = tiles::tile_size(&file, text, kind)?;
    let given = Cell::default();
    let cameras = Cell::default();
    let all_cameras = file.cameras.is_some();
    let check =
        Check { text, language, kind, own, built_in, all_cameras, tile_size, cameras, given };
    let launches = check.launches(&mut file)?;
    let mut buffers = BTreeMap::new();
    for (name, written) in &file.buffer {
        let place = At { line: check.line(written), place: format!("buffer.{name}") };
        let found = check.contents(&place, written.get_ref())?;
        let missing = || place.problem("empty", format!("give one of {KINDS}"));
        buffers.insert(name.clone(), found.ok_or_else(missing)?);
    }
    let preset = check.preset(&file, presets)?;
    let Terms { formulation, extra_roundings, channels, rules } =
        check.terms(&file, preset.as_deref())?;
    let mut manifest = Manifest {
        text: text.to_owned(),
        preset: preset.and_then(|preset| preset.text().map(str::to_owned)),
        kind,
        all_views: check.all_views(&file)?,
        launches,
        buffers,
        sizes: check.sizes(&file.sizes)?,
        formulation,
        extra_roundings: extra_roundings.filter(|_| kind.counts_roundings()),
        projection_roundings: extra_roundings.unwrap_or_default(),
        channels,
        rules,
        built_in: check.built_in.clone(),
        cameras: CameraForms::default(),
    };
    // By now every expression has been met.
    let by_matrix = manifest.arrays().any(|(_, array)| array.holds(Tensor::Projmats));
    let CameraForms { one, middle } = check.cameras.get();
    manifest.cameras = CameraForms { one, middle: middle || by_matrix };
    // A field that the kernel is given is the case's, whatever convention is built in.
    if manifest.kind.projects() && manifest.rules.profile.is_some() {
        manifest.rules.parameters = manifest.rules.parameters.and(check.given.get());
    }
    check.views(&manifest)?;
    check.buffers(&manifest)?;
    check.sums(&manifest)?;
    Check::packed(&manifest)?;
    Check::outputs(&manifest)?;
    Check::channels(&manifest)?;
    check.none(&manifest)?;
    Check::halves(&manifest)?;
    tiles::one_radius(&manifest)?;
    Ok(manifest)
}

/// What the kernels do.
fn kind(file: &File, text: &str) -> Result<KernelKind, Problem> {
    let Some(written) = &file.stage else { return Ok(KernelKind::default()) };
    let unknown = || {
        let names: Vec<_> = KernelKind::of_stages().map(KernelKind::name).collect();
        let advice = format!("expected one of {}", names.join(", "));
        Problem::new("stage", quoted(written.get_ref()), advice).at_line(line(text, written))
    };
    KernelKind::named(written.get_ref()).ok_or_else(unknown)
}

/// Refuses names for sizes that mean something else.
fn names_of_sizes(file: &File, kind: KernelKind) -> Result<Vec<String>, Problem> {
    for name in symbols::constants(kind) {
        if file.sizes.contains_key(name) {
            let advice = "that is a constant of the stage: choose another name";
            return Err(Problem::new("sizes", quoted(name), advice));
        }
    }
    Ok(file.sizes.keys().cloned().collect())
}

/// What is built into kernels of another workload than splats.
fn built_in(file: &File, text: &str, kind: KernelKind) -> Result<BuiltIn, Problem> {
    match (kind, &file.constants) {
        (KernelKind::Of(_), Some(table)) => built_in_of(text, table, kind.workload()),
        (_, _) => Ok(BuiltIn::default()),
    }
}

struct Check<'t> {
    text: &'t str,
    language: Language,
    kind: KernelKind,
    /// What `[sizes]` names.
    own: Vec<String>,
    built_in: BuiltIn,
    /// Whether all cameras are one launch.
    all_cameras: bool,
    /// Width and height of a tile, pixels, of a rasterization.
    tile_size: Option<[u32; 2]>,
    /// Which cameras the expressions so far are for.
    cameras: Cell<CameraForms>,
    /// Which fields of the convention they name.
    given: Cell<Fields>,
}

impl Check<'_> {
    fn line<T>(&self, written: &Spanned<T>) -> usize {
        line(self.text, written)
    }

    /// The sizes in an order in which each is computed of those before it.
    fn sizes(
        &self,
        written: &BTreeMap<String, Spanned<Expression>>,
    ) -> Result<Vec<(String, Expression)>, Problem> {
        let mut left = Vec::new();
        for (name, size) in written {
            let at = At { line: self.line(size), place: format!("sizes.{name}") };
            left.push((name, self.integer(size.get_ref(), &at)?, at));
        }
        let mut all: Vec<(String, Expression)> = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let (later, now): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, size, _)| {
                let mut names = Vec::new();
                size.names(&mut names);
                let waits = |name: &str| {
                    written.contains_key(name) && !all.iter().any(|(known, _)| known == name)
                };
                names.into_iter().any(waits)
            });
            if let (true, Some((.., at))) = (now.is_empty(), later.first()) {
                return Err(at.problem("computed of itself", "break the circle of these sizes"));
            }
            all.extend(now.into_iter().map(|(name, size, _)| (name.clone(), size)));
            left = later;
        }
        Ok(all)
    }

    fn sides(&self, given: &[Expression], at: &At) -> Result<[Expression; 3], Problem> {
        if given.is_empty() || given.len() > 3 {
            return Err(
                at.problem(&format!("{} numbers", given.len()), "give one to three: x, y, z")
            );
        }
        let mut sides = [const { Expression::Integer(1) }; 3];
        for (side, given) in sides.iter_mut().zip(given) {
            *side = self.integer(given, at)?;
        }
        Ok(sides)
    }

    /// A whole number whose names are known.
    fn integer(&self, written: &Expression, at: &At) -> Result<Expression, Problem> {
        if let Expression::Decimal(value) = written {
            return Err(at.problem(&value.to_string(), "expected a whole number"));
        }
        self.known(written, at, &[])
    }

    fn float(&self, written: &Expression, at: &At) -> Result<Expression, Problem> {
        self.known(written, at, &symbols::constants(self.kind))
    }

    fn known(
        &self,
        written: &Expression,
        at: &At,
        constants: &[&str],
    ) -> Result<Expression, Problem> {
        let mut names = Vec::new();
        written.names(&mut names);
        let own = |name: &str| self.own.iter().any(|known| known == name);
        if let Some((name, constant)) = self.without_meaning(&names) {
            let advice = format!(
                "it means something to kernels with a {constant} of their own: say which in [constants]"
            );
            return Err(at.problem(&quoted(name), advice));
        }
        if let Some([width, height]) = self.tile_size.filter(|[width, height]| width != height)
            && names.contains(&"tile_size")
            && !own("tile_size")
        {
            let value = format!("by tile_size, and tiles are {width} x {height}");
            return Err(at.problem(&value, "say tile_width or tile_height"));
        }
        let sizes = symbols::sizes(self.kind);
        let known = |name: &str| sizes.contains(&name) || constants.contains(&name) || own(name);
        if let Some(name) = names.iter().find(|name| !known(name)) {
            let all: Vec<&str> = sizes.iter().chain(constants).copied().collect();
            let value = format!("not known: {}", quoted(name));
            let whole = || format!("there are {}, and what [sizes] names", all.join(", "));
            let advice = instead_of(name, self.kind).map_or_else(whole, str::to_owned);
            return Err(at.problem(&value, advice));
        }
        let any = |wanted: &[&str]| names.iter().any(|name| wanted.contains(name) && !own(name));
        for name in names.iter().filter(|name| !own(name)) {
            self.given.update(|given| given.with(symbols::field(name)).unwrap_or(given));
        }
        let middle = any(&OF_CAMERA_AND_IMAGE);
        let CameraForms { one, middle: known_middle } = self.cameras.get();
        self.cameras.set(CameraForms {
            one: one || middle || any(&OF_CAMERA),
            middle: known_middle || middle,
        });
        Ok(written.clone())
    }

    /// The first of these names of numbers that mean nothing to kernels into which a constant is not built, and
    /// the constant.
    fn without_meaning<'n>(&self, names: &[&'n str]) -> Option<(&'n str, &'static str)> {
        let KernelKind::Of(_) = self.kind else { return None };
        let given = |constant: &Constant| {
            self.built_in.iter().any(|(name, value)| name == constant.name && value != 0)
        };
        let constants = splatcheck_workloads::find(self.kind.workload()).ok()?.constants();
        let missing = constants.into_iter().filter(|constant| !given(constant));
        let mut of = missing.filter_map(|constant| {
            let name = names.iter().find(|name| constant.numbers.contains(name))?;
            Some((*name, constant.name))
        });
        of.next()
    }

    /// The preset that is named.
    fn preset(&self, file: &File, presets: Presets<'_>) -> Result<Option<Arc<Preset>>, Problem> {
        let Some(written) = &file.preset else { return Ok(None) };
        let name = written.get_ref();
        let wrong =
            |advice| Problem::new("preset", quoted(name), advice).at_line(self.line(written));
        presets(name).map(Some).map_err(wrong)
    }

    /// What the kernels are judged as: each key in place of the preset's, if one is named.
    fn terms(&self, file: &File, preset: Option<&Preset>) -> Result<Terms, Problem> {
        let levels = [
            (KernelKind::ProjectOnImage, Level::Project),
            (KernelKind::ProjectOnImageBackward, Level::ProjectBackward),
        ];
        let level = levels.into_iter().find(|(kind, _)| *kind == self.kind).map(|(_, level)| level);
        // A projection's roundings are those of the preset's own projection.
        let counted = level.and_then(|level| Some(preset?.interface(level).ok()?.extra_roundings));
        let preset = preset.map_or_else(Terms::default, |preset| preset.terms);
        let preset = match level {
            None => preset,
            Some(_) => Terms { extra_roundings: counted, ..preset },
        };
        let of_backward = [
            ("formulation", file.formulation.as_ref().map(|key| self.line(key))),
            ("extra_roundings", file.extra_roundings.as_ref().map(|key| self.line(key))),
            ("alpha_gradient", file.alpha_gradient.as_ref().map(|key| self.line(key))),
        ];
        let of_raster = [("constants", file.constants.as_ref().map(|key| self.line(key)))];
        let of_splats = [
            ("preset", file.preset.as_ref().map(|key| self.line(key))),
            ("convention", file.convention.as_ref().map(|key| self.line(key))),
            ("channels", file.channels.as_ref().map(|key| self.line(key))),
            ("colors", file.colors.as_ref().map(|key| self.line(key))),
        ];
        let not_counted = |key: &&(&str, _)| key.0 != "extra_roundings";
        let refused = match self.kind {
            KernelKind::RasterizeBackward | KernelKind::Full => Vec::new(),
            KernelKind::Rasterize => of_backward.iter().filter(not_counted).copied().collect(),
            KernelKind::Project | KernelKind::ProjectBackward => {
                of_backward.iter().chain(&of_raster).copied().collect()
            }
            KernelKind::ProjectOnImage | KernelKind::ProjectOnImageBackward => {
                let all = of_backward.iter().filter(not_counted);
                all.chain(&of_raster).copied().collect()
            }
            KernelKind::Of(_) => of_backward.iter().chain(&of_splats).copied().collect(),
        };
        if let Some((key, Some(line))) = refused.into_iter().find(|(_, line)| line.is_some()) {
            let value = format!("given for stage {}", self.kind.name());
            return Err(
                Problem::new(key, value, "it is another stage's: leave it out").at_line(line)
            );
        }
        let constants = match self.kind {
            KernelKind::Of(_) => None,
            _ => file.constants.as_ref().map(|_| constants_of(self.text)).transpose()?,
        };
        let mut terms = file.terms(constants.as_ref()).over(self.text, preset)?;
        terms.rules.tile_size = self.tile_size;
        Ok(match self.kind.has_formulations() {
            true => terms,
            // Its arrays say which colours a kernel takes.
            false => Terms {
                formulation: None,
                extra_roundings: terms
                    .extra_roundings
                    .filter(|_| self.kind.knows_the_image() || self.kind.counts_roundings()),
                rules: KernelRules { harmonics_alone: false, ..terms.rules },
                ..terms
            },
        })
    }

    /// Every named buffer is described, and used.
    fn buffers(&self, manifest: &Manifest) -> Result<(), Problem> {
        let mut used = Vec::new();
        for parameter in manifest.parameters() {
            if let Argument::Named(name) = &parameter.argument {
                if !manifest.buffers.contains_key(name) {
                    let advice = format!(
                        "describe it: [buffer.{name}] with zeros = {{ dtype = \"f32\", shape = [\"N\"] }}, \
                         or another of {KINDS}"
                    );
                    let field = format!("{}.buffer", parameter.place);
                    return Err(Problem::new(field, quoted(name), advice).at_line(parameter.line));
                }
                used.push(name);
            }
        }
        match manifest.buffers.keys().find(|name| !used.contains(name)) {
            None => Ok(()),
            Some(name) => {
                Err(Problem::new(format!("buffer.{name}"), "not used", "no parameter names it"))
            }
        }
    }

    /// A projection that says which rows it kept says so whole, and packs all that it returns.
    fn packed(manifest: &Manifest) -> Result<(), Problem> {
        let written = || manifest.arrays().filter(|(_, array)| array.is_written());
        let is_packed = |array: &Array| array.rows() == Rows::Packed || array.holds(Tensor::Indptr);
        if manifest.kind != KernelKind::ProjectOnImage {
            return Ok(());
        }
        let Some((first, _)) = written().find(|(_, array)| is_packed(array)) else { return Ok(()) };
        for list in LIST {
            if !written().any(|(_, array)| array.holds(list)) {
                let advice =
                    "packed rows are found by indptr, camera_ids and gaussian_ids: name all three";
                let problem = Problem::new(list.name(), "held by no parameter", advice);
                return Err(problem.at_line(first.line));
            }
        }
        match written().find(|(_, array)| !is_packed(array)) {
            None => Ok(()),
            Some((parameter, array)) => {
                let value = format!("missing for {}", array.name());
                let advice =
                    "a projection that lists its rows packs all that it returns: say 'packed'";
                let place = format!("{}.layout", parameter.place);
                Err(Problem::new(place, value, advice).at_line(parameter.line))
            }
        }
    }

    /// A component is one of the channels that the kernel is for.
    fn channels(manifest: &Manifest) -> Result<(), Problem> {
        let mut all = manifest.arrays();
        let found =
            all.find_map(|(parameter, array)| Some((parameter, beyond(array, manifest.channels)?)));
        let Some((parameter, value)) = found else { return Ok(()) };
        let advice = "a component is numbered from 0, below the manifest's own number of channels: say \
                      channels = 4, or as many as there are";
        let place = format!("{}.fields", parameter.place);
        Err(Problem::new(place, value, advice).at_line(parameter.line))
    }

    /// What stands for no contributor is told from the first contributor by the pixel's opacity.
    fn none(&self, manifest: &Manifest) -> Result<(), Problem> {
        let usual = splatcheck_workloads::layout::Meaning::default().none;
        let opacities = [Tensor::RenderAlphas, Tensor::RenderTransmittance];
        // In 16 bits an opacity may be rounded to none.
        let tells = |array: &Array| {
            array.is_written()
                && array.meaning.stored.half().is_none()
                && opacities.iter().any(|one| array.holds(*one))
        };
        for (parameter, array) in manifest.arrays() {
            let otherwise = array.is_written() && array.meaning.none != usual;
            if otherwise && !manifest.arrays().any(|(_, other)| tells(other)) {
                let value = format!("{} for an output", array.meaning.none);
                let advice = "it is told from a place by the pixel's opacity: have the kernel return \
                              render_alphas or render_transmittance too, in f32";
                let problem = Problem::new(format!("{}.none", parameter.place), value, advice);
                return Err(problem.at_line(parameter.line));
            }
        }
        Ok(())
    }

    /// No output lies in two buffers, or begins in two ways; of two arrays that are the same numbers there is one.
    fn outputs<'m>(manifest: &'m Manifest) -> Result<(), Problem> {
        let mut seen: Vec<(&Array, Start, usize)> = Vec::new();
        let pointers = |parameter: &'m Parameter| {
            parameter.argument.pointers().into_iter().map(move |one| (parameter, one))
        };
        for (parameter, argument) in manifest.parameters().flat_map(pointers) {
            let Argument::Output(array, start) = argument else { continue };
            let wrong = |value: String, advice: &str| {
                let problem = Problem::new(parameter.place.as_str(), value, advice);
                Err(problem.at_line(parameter.line))
            };
            for (known, begins, line) in &seen {
                if (*known, begins) == (array, start) {
                    continue;
                }
                if let Some(tensor) = array.shared_with(known) {
                    let value =
                        format!("{} again, described differently in line {line}", tensor.name());
                    let advice = "an output lies in one buffer: describe it alike everywhere";
                    return wrong(value, advice);
                }
            }
            let others = seen.iter().map(|(known, ..)| *known).filter(|known| *known != array);
            let advice = "one of them is judged: give the other a buffer of its own, such as zeros";
            if let Some((value, advice)) = held_twice(array, others, advice) {
                return wrong(value, advice);
            }
            seen.push((array, *start, parameter.line));
        }
        Ok(())
    }
}
