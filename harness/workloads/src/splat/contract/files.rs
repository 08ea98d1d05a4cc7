//! The files of a user's program: what it is given for a job, and what it must write.

use super::super::case::Case;
use super::super::expectation::IMAGE;
use super::super::files::{case_file, overrides};
use super::super::formulated::stage_of;
use super::super::level::Level;
use super::super::stage::RasterStage;
use super::super::whole::case_bytes;
use super::super::{scene_arrays, scene_symbols};
use super::Contract;
use crate::layout::tensor::signed;
use crate::layout::{KernelKind, Symbols};
use crate::presets::Given;
use splatcheck_gpu::stage::Sizes;
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD, RASTERIZE, RENDER_BACKWARD};
use splatcheck_gpu::{Data, RasterInputs, Stage, Tensor, TensorError, Tensors};
use splatcheck_judge::engines::command::{Form, Need, Written, encode};
use splatcheck_judge::io::Problem;
use splatcheck_reference::splat::Formulation;
use std::collections::BTreeMap;

impl Form for Contract {
    fn stage(&self) -> Stage {
        match self.level {
            Level::Raster => stage_of(self.formulation),
            Level::Project => PROJECT,
            Level::ProjectBackward => PROJECT_BACKWARD,
            Level::Full => RENDER_BACKWARD,
            Level::Of(stage) => stage,
        }
    }

    fn input(&self, inputs: &Tensors) -> Result<Vec<u8>, Problem> {
        let no_input = |error: TensorError| Problem::new("the input", error, "a stage's inputs");
        match (self.level, self.interface()) {
            (Level::Full, None) => case_bytes(inputs).map_err(no_input),
            (Level::Full, Some(interface)) => {
                let bytes = case_bytes(inputs).map_err(no_input)?;
                let Case { scene, convention, .. } = case_file::parse(&bytes, "")?.case;
                let all = scene_arrays(&scene, interface.taken().raw);
                let all = all.map_err(|error| Problem::new("the case", error, "mend it"))?;
                let given = interface.given(&all, &scene_symbols(&scene, &convention))?;
                let mut metadata: BTreeMap<String, String> = overrides::described(&convention)
                    .map(|(key, text)| (key.to_owned(), text))
                    .collect();
                let profile = convention.profile.name();
                metadata.insert("convention".to_owned(), profile.to_owned());
                for (side, pixels) in [("width", scene.width), ("height", scene.height)] {
                    metadata.insert(side.to_owned(), pixels.to_string());
                }
                self.encode_given(metadata, given)
            }
            (Level::Project | Level::ProjectBackward | Level::Of(_), None) => {
                self.encode(inputs, inputs)
            }
            (Level::Project | Level::ProjectBackward | Level::Of(_), Some(interface)) => {
                let symbols = Symbols::of(self.level.into(), inputs);
                let given = interface.given(inputs, &symbols.map_err(no_input)?)?;
                self.encode_given(self.metadata(inputs), given)
            }
            (Level::Raster, None) => {
                let all = raster_arrays(inputs).map_err(no_input)?;
                self.encode(inputs, &all)
            }
            (Level::Raster, Some(interface)) => {
                let all = raster_arrays(inputs).map_err(no_input)?;
                let symbols = Symbols::of(KernelKind::RasterizeBackward, &all).map_err(no_input)?;
                let given = interface.given(&all, &symbols)?;
                self.encode_given(self.metadata(inputs), given)
            }
        }
    }

    fn sizes(&self, inputs: &Tensors) -> Result<Sizes, TensorError> {
        let stage = self.stage();
        // A preset's projection is given more than the stage reads.
        stage.sizes(&inputs.clone().only(|name| stage.reads(name)))
    }

    fn written(&self, sizes: &Sizes) -> Vec<Written> {
        if let Some(interface) = self.interface() {
            return interface.written(sizes);
        }
        let outputs = self.stage().outputs.iter().map(|port| Written::of(port, sizes));
        match self.level {
            Level::Raster => outputs.chain(image(sizes)).collect(),
            Level::Project | Level::ProjectBackward => outputs.collect(),
            Level::Of(_) => {
                outputs.map(|one| Written { dtype: signed(one.dtype), ..one }).collect()
            }
            Level::Full => {
                // Of the gradients of colours there is one, by which the colours are given.
                let (given, other) =
                    if sizes.get("K") > 0 { ("v_sh", "v_colors") } else { ("v_colors", "v_sh") };
                let always = [given, "render_colors", "render_alphas"];
                let needed = |one: Written| match always.contains(&&*one.name) {
                    true => Written { need: Need::Always, ..one },
                    false => one,
                };
                outputs.filter(|one| one.name != other).map(needed).collect()
            }
        }
    }

    fn gathered(&self, sizes: &Sizes, written: Tensors) -> Result<Tensors, Problem> {
        match self.interface() {
            None => of_stage(&self.stage(), written),
            Some(interface) => interface.gathered(&self.stage(), sizes, &written),
        }
    }
}

/// The image, which a program that rasterizes backward may return as well.
fn image(sizes: &Sizes) -> impl Iterator<Item = Written> {
    let ports = RASTERIZE.outputs.iter().filter(|port| IMAGE.contains(&port.name));
    ports.map(|port| Written { need: Need::Welcome, ..Written::of(port, sizes) })
}

impl Contract {
    /// The arrays of a stage as a file: numbers by themselves are its metadata.
    fn encode(&self, inputs: &Tensors, arrays: &Tensors) -> Result<Vec<u8>, Problem> {
        let mut named = Tensors::new();
        for (name, tensor) in arrays.iter().filter(|(_, tensor)| !tensor.shape().is_empty()) {
            named.insert(name.to_owned(), as_signed(tensor));
        }
        encode(&self.metadata(inputs), &named)
    }

    /// What a preset's kernel is given, as a file.
    fn encode_given(
        &self,
        mut metadata: BTreeMap<String, String>,
        given: Given,
    ) -> Result<Vec<u8>, Problem> {
        let Given { arrays, numbers, nulls } = given;
        metadata.insert("level".to_owned(), self.level.name().to_owned());
        if let Some(preset) = &self.preset {
            metadata.insert("preset".to_owned(), preset.name().to_owned());
        }
        metadata.extend(numbers);
        if !nulls.is_empty() {
            metadata.insert("null".to_owned(), nulls.join(","));
        }
        encode(&metadata, &arrays)
    }

    /// The numbers by themselves among a stage's inputs, and what the level is.
    fn metadata(&self, inputs: &Tensors) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::from([("level".to_owned(), self.level.name().to_owned())]);
        if self.level == Level::Raster {
            // The note on the formulation says which of T and 1 - T the bounds are told.
            metadata.insert("formulation".to_owned(), self.formulation.to_string());
            metadata.insert("threshold".to_owned(), "0".to_owned());
        }
        for (name, tensor) in inputs.iter().filter(|(_, tensor)| tensor.shape().is_empty()) {
            metadata.insert(name.to_owned(), number_text(tensor.data()));
        }
        metadata
    }
}

/// A number as text, from which the same number is read.
fn number_text(data: &Data) -> String {
    match data {
        Data::F32(values) => values.first().map(ToString::to_string),
        Data::I32(values) => values.first().map(ToString::to_string),
        Data::U32(values) => values.first().map(ToString::to_string),
    }
    .unwrap_or_default()
}

/// What was written with signed integers, with the types of the stage.
fn of_stage(stage: &Stage, written: Tensors) -> Result<Tensors, Problem> {
    let mut outputs = Tensors::new();
    for (name, tensor) in written.iter() {
        let port = stage.outputs.iter().find(|port| port.name == name);
        let dtype = port.map_or_else(|| tensor.dtype(), |port| port.dtype);
        let data = Data::from_words(dtype, tensor.words());
        let fits = Tensor::new(name, tensor.shape().to_vec(), data);
        let wrong = |error| Problem::new(format!("tensor '{name}'"), error, "write it whole");
        outputs.insert(name.to_owned(), fits.map_err(wrong)?);
    }
    Ok(outputs)
}

/// Unsigned integers as signed ones, which every library has: they are indices below 2^31.
fn as_signed(tensor: &Tensor) -> Tensor {
    let data = match tensor.data() {
        Data::U32(values) => Data::I32(values.iter().map(|value| value.cast_signed()).collect()),
        data @ (Data::F32(_) | Data::I32(_)) => data.clone(),
    };
    let same = || tensor.clone();
    Tensor::new("", tensor.shape().to_vec(), data).unwrap_or_else(|_| same())
}

impl Contract {
    /// The inputs that the program is given in the one formulation and not in the other: where a preset
    /// says which arrays there are, none.
    #[must_use]
    pub fn given_only_in(&self, one: Formulation, other: Formulation) -> Vec<&'static str> {
        if self.preset.is_some() || self.level != Level::Raster {
            return Vec::new();
        }
        let without = stage_of(other);
        let names = stage_of(one).inputs.iter().map(|port| port.name);
        names.filter(|name| !OF_EVERY_FORMULATION.contains(name) && !without.reads(name)).collect()
    }
}

/// What a program that rasterizes backward is given of the forward pass in every formulation.
const OF_EVERY_FORMULATION: [&str; 4] =
    ["render_transmittance", "render_alphas", "render_colors", "last_ids"];

/// The stage's own arrays, and of the forward pass, which is rendered again to the bit, those
/// `OF_EVERY_FORMULATION` that the stage leaves out. A kernel that begins at checkpoints gets them under
/// its formulation alone: they may be larger than all else.
pub fn raster_arrays(inputs: &Tensors) -> Result<Tensors, TensorError> {
    let raster = RasterInputs::from_tensors(inputs)?;
    let [height, width, channels] =
        [raster.height, raster.width, raster.channels].map(|side| side as usize);
    let forward = RasterStage::from_inputs(&raster).mirror_forward();
    let alphas: Vec<f32> = forward.transmittance.iter().map(|t| 1.0 - t).collect();
    let mut all = inputs.clone();
    let mut add = |name, shape: &[usize], data| all.array(name, shape, data);
    // A stage whose formulation takes one minus the opacity has that under the transmittance's name.
    let [transmittance, opacity, image, last] = OF_EVERY_FORMULATION;
    add(transmittance, &[height, width], Data::F32(forward.transmittance))?;
    add(opacity, &[height, width], Data::F32(alphas))?;
    add(image, &[height, width, channels], Data::F32(forward.render_colors))?;
    add(last, &[height, width], Data::I32(forward.last_ids))?;
    Ok(all)
}
