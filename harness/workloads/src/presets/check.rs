//! From what is written in a preset to what it means: every key is checked where it stands.

use std::collections::BTreeMap;

use splatcheck_reference::arithmetic::ExtraRoundings;
use splatcheck_reference::splat::Formulation;
use toml::Spanned;

use super::form::shape_of;
use super::source::Source;
use super::terms::{built_in_of, constants_of, roundings};
use super::text::{self, File};
use super::{Interface, Named, Preset, TANGENTS, Terms};
use crate::layout::held::{held_twice, not_held};
use crate::layout::packed::is_list;
use crate::layout::symbols::{
    self, CONSTANTS, PROJECTION_CONSTANTS, PROJECTION_FLAGS, PROJECTION_SIDES, SIDES,
};
use crate::layout::tensor::Use;
use crate::layout::written::{At, beyond, line};
use crate::layout::{Array, Expression, Layout, Symbols, Tensor};
use crate::splat::kernel_rules::Fields;
use crate::splat::level::Level;
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;
use splatcheck_judge::io::toml_node;
use splatcheck_judge::judge::Arithmetic;
use splatcheck_judge::workload::BuiltIn;

/// Checks a preset's text.
///
/// # Errors
/// The first thing that is wrong: where, what, and what would be right.
pub(super) fn preset(name: &str, text: &str) -> Result<Preset, Problem> {
    let file: File = toml_node::read("the preset", text)?;
    let constants = match file.stage.is_empty() {
        true => file.constants.as_ref().map(|_| constants_of(text)).transpose()?,
        false => None,
    };
    let mut terms = file.terms(constants.as_ref()).over(text, Terms::default())?;
    let formulation = terms.formulation.unwrap_or_default();
    let check = Check { text, formulation, channels: terms.channels };
    terms.rules.parameters = check.parameters(&file.parameters)?;
    let mut levels = BTreeMap::new();
    for (level, written) in check.tables(&file)? {
        levels.insert(level, check.level(level, written.get_ref())?);
    }
    let built_in = check.built_in(&file, &levels)?;
    let full: Option<&Interface> = levels.get(&Level::Full);
    terms.rules.harmonics_alone = full.is_some_and(|full| !full.has(Tensor::Colors));
    check.channels_of_harmonics(&file, full)?;
    if levels.is_empty() {
        let advice = "describe a level's arrays, as in [raster]";
        return Err(Problem::new("the preset", "without a level", advice));
    }
    Ok(Preset {
        name: name.to_owned(),
        text: None,
        project: file.project.clone(),
        sources: check.sources(&file.source)?,
        terms,
        built_in,
        arithmetic: check.arithmetic(file.model.as_ref())?,
        levels,
        without: check.without(&file.without)?,
    })
}

/// The name of a level's table: `project` is what the preset is one of.
fn name_of(level: Level) -> String {
    match level {
        Level::Project => "projection".to_owned(),
        Level::ProjectBackward => "projection-backward".to_owned(),
        Level::Raster | Level::Full => level.name().to_owned(),
        Level::Of(_) => format!("stage.{}", level.name()),
    }
}

struct Check<'t> {
    text: &'t str,
    formulation: Formulation,
    /// The only number of channels.
    channels: Option<u32>,
}

impl Check<'_> {
    fn at<T>(&self, place: impl Into<String>, written: &Spanned<T>) -> At {
        At { line: line(self.text, written), place: place.into() }
    }

    /// The levels that are described, with their tables: of splats, or of stages of one other workload.
    fn tables<'f>(
        &self,
        file: &'f File,
    ) -> Result<Vec<(Level, &'f Spanned<text::Level>)>, Problem> {
        let of_splats = [
            (Level::Raster, &file.raster),
            (Level::Project, &file.projection),
            (Level::ProjectBackward, &file.projection_backward),
            (Level::Full, &file.full),
        ];
        let mut all: Vec<(Level, &Spanned<text::Level>)> = Vec::new();
        all.extend(
            of_splats.into_iter().filter_map(|(level, table)| Some((level, table.as_ref()?))),
        );
        for (name, written) in &file.stage {
            let at = self.at(format!("stage.{}", name.escape_debug()), written);
            let level = name.parse::<Level>().ok().filter(|level| matches!(level, Level::Of(_)));
            let level = level.ok_or_else(|| {
                let names: Vec<_> = Level::others().map(Level::name).collect();
                at.problem("no stage", format!("there are {}", names.join(", ")))
            })?;
            if let Some((other, _)) =
                all.iter().find(|(other, _)| other.workload() != level.workload())
            {
                let value = format!("of workload {}", level.workload());
                let advice = format!("{} is of another: give each a preset", name_of(*other));
                return Err(at.problem(&value, advice));
            }
            all.push((level, written));
        }
        Ok(all)
    }

    /// What is built into kernels of another workload than splats.
    fn built_in(
        &self,
        file: &File,
        levels: &BTreeMap<Level, Interface>,
    ) -> Result<BuiltIn, Problem> {
        match (&file.constants, levels.keys().next()) {
            (Some(table), Some(level @ Level::Of(_))) => {
                built_in_of(self.text, table, level.workload())
            }
            (_, _) => Ok(BuiltIn::default()),
        }
    }

    fn arithmetic(&self, written: Option<&Spanned<String>>) -> Result<Option<Arithmetic>, Problem> {
        let Some(written) = written else { return Ok(None) };
        let name = written.get_ref();
        let found = Arithmetic::ALL.into_iter().find(|one| one.name() == *name);
        let unknown = || {
            let all = Arithmetic::ALL.map(Arithmetic::name).join(", ");
            self.at("model", written).problem(&quoted(name), format!("expected one of {all}"))
        };
        found.map(Some).ok_or_else(unknown)
    }

    /// Harmonics have 3 channels: no case is for a kernel that takes them alone and has another number.
    fn channels_of_harmonics(&self, file: &File, full: Option<&Interface>) -> Result<(), Problem> {
        let harmonics = |full: &Interface| full.has(Tensor::Sh) || full.has(Tensor::ShDc);
        let alone = full.is_some_and(|full| harmonics(full) && !full.has(Tensor::Colors));
        match file.channels.as_ref().filter(|channels| alone && *channels.get_ref() != 3) {
            None => Ok(()),
            Some(channels) => {
                let advice = "level full takes harmonics alone, which have 3: no case would be for the kernel";
                Err(self.at("channels", channels).problem(&channels.get_ref().to_string(), advice))
            }
        }
    }

    fn sources(&self, written: &[Spanned<Source>]) -> Result<Vec<Source>, Problem> {
        written.iter().map(|one| Source::check(one, &self.at("source", one))).collect()
    }

    fn parameters(&self, written: &[Spanned<String>]) -> Result<Fields, Problem> {
        let mut fields = Fields::default();
        for name in written {
            let unknown = || {
                let advice = format!("there are {}", Fields::names());
                self.at("parameters", name).problem(&quoted(name.get_ref()), advice)
            };
            fields = fields.with(name.get_ref()).ok_or_else(unknown)?;
        }
        Ok(fields)
    }

    /// Why there is no level, by its name.
    fn without(
        &self,
        written: &BTreeMap<String, Spanned<String>>,
    ) -> Result<BTreeMap<Level, String>, Problem> {
        let each = written.iter().map(|(name, why)| {
            let level = name.parse::<Level>().map_err(|error| {
                self.at("without", why).problem(&quoted(name), error.to_string())
            })?;
            Ok((level, why.get_ref().clone()))
        });
        each.collect()
    }

    fn level(&self, level: Level, written: &text::Level) -> Result<Interface, Problem> {
        let table = name_of(level);
        let by_camera = self.by_camera(level, written)?;
        let arrays = |key: &str, all: &[Spanned<text::Array>], usage: Use| {
            let each = all.iter().map(|one| {
                let name = &one.get_ref().name;
                let at = self.at(format!("{table}.{key} '{}'", name.escape_debug()), one);
                self.array(one.get_ref(), (level, usage), &at)
            });
            each.collect::<Result<Vec<_>, _>>()
        };
        let interface = Interface {
            level,
            by_camera,
            inputs: arrays("inputs", &written.inputs, Use::Read)?,
            outputs: arrays("outputs", &written.outputs, Use::Write)?,
            numbers: self.numbers((level, by_camera), &written.numbers)?,
            extra_roundings: self.extra_roundings(level, written)?,
        };
        self.names(level, written, &interface)?;
        for wanted in wanted(&interface) {
            let held = || interface.outputs.iter().filter_map(|named| named.array.as_ref());
            let missing = wanted.iter().map(|group| not_held(held(), group, self.channels));
            let missing = missing.collect::<Vec<_>>();
            if let Some(missing) = missing.into_iter().reduce(|a, b| b.and(a)).flatten() {
                let advice = "name it in an output (tensor or fields)";
                let place = format!("{table}.outputs");
                return Err(Problem::new(place, format!("without {}", missing.name()), advice));
            }
        }
        Ok(interface)
    }

    /// Whether each camera is a run of its own.
    fn by_camera(&self, level: Level, written: &text::Level) -> Result<bool, Problem> {
        match (level, &written.by_camera) {
            (Level::Raster, _) => Ok(true),
            (Level::Full, by_camera) => Ok(by_camera.as_ref().is_some_and(|by| *by.get_ref())),
            (Level::Project | Level::ProjectBackward | Level::Of(_), None) => Ok(false),
            (Level::Project | Level::ProjectBackward | Level::Of(_), Some(given)) => {
                let at = self.at(format!("{}.by_camera", name_of(level)), given);
                Err(at.problem("given", "a run is of all cameras, or has none: leave it out"))
            }
        }
    }

    /// Those of a projection; that of a rasterization says them at the top.
    fn extra_roundings(
        &self,
        level: Level,
        written: &text::Level,
    ) -> Result<ExtraRoundings, Problem> {
        let Some(given) = &written.extra_roundings else { return Ok(ExtraRoundings::NONE) };
        let key = format!("{}.extra_roundings", name_of(level));
        match level {
            Level::Project | Level::ProjectBackward => roundings(self.text, &key, given),
            Level::Raster | Level::Full | Level::Of(_) => {
                let advice =
                    "level raster has it at the top, and others than projections have none";
                Err(self.at(key, given).problem("given", advice))
            }
        }
    }

    fn array(
        &self,
        written: &text::Array,
        (level, usage): (Level, Use),
        at: &At,
    ) -> Result<Named, Problem> {
        let output = usage == Use::Write;
        let shape = written.shape.clone();
        for side in shape.iter().flatten() {
            let sides = match level {
                Level::Raster | Level::Full => SIDES.to_vec(),
                Level::Project | Level::ProjectBackward => PROJECTION_SIDES.to_vec(),
                Level::Of(stage) => stage.symbols(),
            };
            known(side, &sides, &at.key("shape"))?;
        }
        let absent = match (output, written.null, written.unused) {
            (false, None | Some(false), None) | (true, None, None | Some(false)) => false,
            (false, Some(true), None) | (true, None, Some(true)) => true,
            (false, _, Some(_)) => {
                return Err(at.key("unused").problem("given for an input", "say null = true"));
            }
            (true, Some(_), _) => {
                return Err(at.key("null").problem("given for an output", "say unused = true"));
            }
        };
        let name = written.name.clone();
        if absent {
            if output && shape.is_none() {
                return Err(at.key("shape").problem("missing", "an unused output has one"));
            }
            return Ok(Named { name, array: None, shape });
        }
        let array = written.array().array(level.into(), Some(usage), at)?;
        let array = array.ok_or_else(|| at.problem("empty", "name a tensor or fields"))?;
        self.fits(&array, (level, usage), at)?;
        if let Some(component) = beyond(&array, self.channels) {
            let advice = "say at the top how many channels the kernel is for: channels = 4";
            return Err(at.key("fields").problem(&component, advice));
        }
        for symbols in samples(level) {
            shape_of(&name, &array, shape.as_deref(), &symbols)
                .map_err(|problem| problem.at_line(at.line))?;
        }
        Ok(Named { name, array: Some(array), shape })
    }

    /// Whether a kernel of the preset may have the array there.
    fn fits(&self, array: &Array, (level, usage): (Level, Use), at: &At) -> Result<(), Problem> {
        if usage == Use::Write && array.layout == Layout::Packed {
            let advice = "return [N,...], the sums of the rows of each Gaussian, or [C,N,...]";
            return Err(at.key("layout").problem("'packed' for an output", advice));
        }
        if let Some(list) = array.tensors().find(|one| usage == Use::Write && is_list(*one)) {
            let advice = "return [C,N,...], with radii of 0 for what was left out";
            return Err(at.problem(list.name(), advice));
        }
        for tensor in array.tensors() {
            if tensor.use_at(level.into()) != Some(usage) {
                let is = if usage == Use::Write { "an input" } else { "an output" };
                let advice = format!("it is {is}: name it among them");
                return Err(at.problem(tensor.name(), advice));
            }
            let projection = matches!(level, Level::Project | Level::ProjectBackward);
            if projection && tensor.is_of_blending() {
                let advice = "a preset's projection has no colours and opacities of its own: launch it by a \
                              manifest of stage project_on_image (or its backward)";
                return Err(at.problem(tensor.name(), advice));
            }
            if tensor.dtype() != array.dtype() {
                let advice = "an array has numbers of one type: split it";
                return Err(at.problem(&array.name(), advice));
            }
            if level == Level::Raster
                && let Some(advice) = tensor.not_given_in(self.formulation)
            {
                let formulation = self.formulation;
                let value =
                    format!("{}, which formulation {formulation} is not given", tensor.name());
                return Err(at.problem(&value, advice));
            }
        }
        Ok(())
    }

    fn numbers(
        &self,
        (level, by_camera): (Level, bool),
        written: &BTreeMap<String, Spanned<Expression>>,
    ) -> Result<BTreeMap<String, Expression>, Problem> {
        let mut all = SIDES.to_vec();
        match (level, by_camera) {
            (Level::Of(_), _) => {
                all = [symbols::sizes(level.into()), symbols::constants(level.into())].concat();
            }
            (Level::Full, true) => all.extend(CONSTANTS.iter().chain(&FULL).chain(&TANGENTS)),
            (Level::Full, false) => all.extend(CONSTANTS.iter().chain(&FULL)),
            (Level::Raster, _) => {
                all.extend(CONSTANTS.iter().chain(&["stop_when_equal", "clamp_stops_gradient"]));
            }
            (Level::Project | Level::ProjectBackward, _) => {
                all.extend(PROJECTION_CONSTANTS.iter().chain(&PROJECTION_FLAGS));
            }
        }
        let table = name_of(level);
        let each = written.iter().map(|(name, value)| {
            let at = self.at(format!("{table}.numbers.{}", name.escape_debug()), value);
            known(value.get_ref(), &all, &at)?;
            Ok((name.clone(), value.get_ref().clone()))
        });
        each.collect()
    }

    /// No two things have one name, and no number is held by two outputs.
    fn names(
        &self,
        level: Level,
        written: &text::Level,
        interface: &Interface,
    ) -> Result<(), Problem> {
        let sides = [
            ("inputs", &written.inputs, &interface.inputs),
            ("outputs", &written.outputs, &interface.outputs),
        ];
        for (key, lines, all) in sides {
            for (place, one) in all.iter().enumerate() {
                let at = self.at(format!("{}.{key}", name_of(level)), &lines[place]);
                let number = key == "inputs" && interface.numbers.contains_key(&one.name);
                if number || all[..place].iter().any(|other| other.name == one.name) {
                    let value = format!("{} twice", quoted(&one.name));
                    return Err(at.problem(&value, "give each a name of its own"));
                }
                let shared = all[..place]
                    .iter()
                    .find_map(|other| one.array.as_ref()?.shared_with(other.array.as_ref()?));
                if let (Some(tensor), "outputs") = (shared, key) {
                    let value = format!("{} twice", tensor.name());
                    return Err(at.problem(&value, "an output holds each number once"));
                }
                if key == "outputs"
                    && let Some(array) = &one.array
                {
                    let before = all[..place].iter().filter_map(|other| other.array.as_ref());
                    let advice = "both are the same numbers, and one of them is judged: say unused = true, with \
                                  its shape, of an array that holds the other alone";
                    if let Some((value, advice)) = held_twice(array, before, advice) {
                        return Err(at.problem(&value, advice));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Constants of a convention that only kernels of level full have.
const FULL: [&str; 3] = ["eps2d", "near", "far"];

/// What the outputs must hold: of each entry, all tensors of one of its groups.
fn wanted(interface: &Interface) -> Vec<&'static [&'static [Tensor]]> {
    use Tensor::{
        ProjectedConics, ProjectedMeans2d, Radii, RenderColors, VColors, VConics, VLogScales,
        VLogits, VMeans, VMeans2d, VOpacities, VQuats, VScales, VSh, VShDc, VShRest,
    };
    match interface.level {
        Level::Project => vec![&[&[ProjectedMeans2d, ProjectedConics, Radii]]],
        Level::ProjectBackward => vec![&[&[VMeans, VQuats, VScales]]],
        // What is not returned is not compared.
        Level::Of(_) => Vec::new(),
        Level::Raster => {
            vec![&[&[VMeans2d, VConics, VColors]], &[&[VOpacities], &[VLogits]]]
        }
        Level::Full => {
            let mut all: Vec<&'static [&'static [Tensor]]> =
                vec![&[&[RenderColors, VMeans, VQuats]]];
            let raw = interface.taken().raw;
            all.push(if raw.log_scales { &[&[VLogScales]] } else { &[&[VScales]] });
            all.push(if raw.logits { &[&[VLogits]] } else { &[&[VOpacities]] });
            if interface.has(Tensor::Colors) {
                all.push(&[&[VColors]]);
            }
            if interface.has(Tensor::Sh) || interface.has(Tensor::ShDc) {
                all.push(&[&[VSh], &[VShDc, VShRest]]);
            }
            all
        }
    }
}

/// Sizes to try shapes on: a shape that has the wrong number of elements has it for one of them.
fn samples(level: Level) -> [Symbols; 2] {
    if let Level::Of(stage) = level {
        // Primes, so that no product of some is that of others.
        let primes = [[7, 11, 13, 17, 19, 23], [29, 31, 37, 41, 43, 47]];
        return primes.map(|primes| Symbols::of_named(stage.symbols().into_iter().zip(primes)));
    }
    let of = |[width, height, gaussians, channels, tiles, pairs, cameras, coefficients]: [usize;
                  8]| {
        let all = Symbols {
            width,
            height,
            gaussians,
            channels,
            tiles,
            pairs,
            cameras,
            coefficients,
            ..Symbols::default()
        };
        all.of_counts()
    };
    // Images of 3x2 and of 2x5 tiles.
    [of([37, 23, 7, 3, 6, 101, 1, 4]), of([31, 67, 11, 3, 10, 103, 1, 9])]
}

/// Whether every name of an expression is one of these.
fn known(written: &Expression, all: &[&str], at: &At) -> Result<(), Problem> {
    let mut names = Vec::new();
    written.names(&mut names);
    match names.into_iter().find(|name| !all.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let value = format!("not known: {}", quoted(name));
            Err(at.problem(&value, format!("there are {}", all.join(", "))))
        }
    }
}
