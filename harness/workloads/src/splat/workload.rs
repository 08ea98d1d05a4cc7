//! Splats as a workload: how their cases are drawn and read.

use super::case::splat_case;
use super::files::{case_file, corpus};
use super::generators::{self, CHEAP_SIZES, find};
use super::harmonics;
use super::skipped_gaussian::with_skipped;
use super::space;
use splatcheck_emulator::mix;
use splatcheck_gpu::Stage;
use splatcheck_gpu::stages::splat::NAME;
use splatcheck_judge::case_space::Axis;
use splatcheck_judge::io::{InputError, read};
use splatcheck_judge::workload::{
    AnyCase, BuiltIn, CaseError, CaseFile, CaseTree, Constant, Draw, Drawn, Generator, Notes,
    Values, Variant, Workload,
};
use splatcheck_reference::splat::camera::Camera;
use splatcheck_reference::splat::convention::Profile;
use splatcheck_reference::splat::{Colors, Scene};
use std::path::Path;
use std::sync::Arc;

/// The generators of the main job whose kinds take turns, and are cheap.
const OF_KINDS: [&str; 2] = ["fields", "sizes"];

/// Random cases that have every kind among them.
const EVERY_KIND: u64 = 200;

/// How many of the main job's cases are of each generator of larger scenes.
const LARGE: u64 = 3;

/// Splat rendering, its cases drawn under one profile, or under both where none is named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Splat(pub Option<Profile>);

impl Splat {
    /// The convention that a case is drawn under: if none is named, both are as likely, whatever the
    /// generators' turns are.
    fn profile(self, seed: u64, index: u64) -> Profile {
        let mixed = mix(seed ^ mix(index));
        self.0.unwrap_or(if mixed & 1 == 0 { Profile::Inria } else { Profile::Gsplat })
    }
}

impl Workload for Splat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn convention(&self) -> Option<&'static str> {
        self.0.map(Profile::name)
    }

    fn under(&self, convention: &str) -> Option<Arc<dyn Workload>> {
        Some(Arc::new(Self(Some(convention.parse().ok()?))))
    }

    fn generators(&self) -> Vec<&'static Generator> {
        generators::ALL.iter().map(|row| &row.generator).collect()
    }

    fn draw(&self, generator: &Generator, draw: Draw, seed: u64, index: u64) -> Option<CaseTree> {
        let Draw { lane_width, turn } = draw;
        let draw = generators::Draw { profile: self.profile(seed, index), lane_width, turn };
        Some(Box::new(Drawn(find(generator.name)?.draw(draw, seed, index)?)))
    }

    /// Those of the main job: every change of a field, and every size that is cheap.
    fn of_each_kind(&self, seed: u64) -> Vec<AnyCase> {
        let is_kind = |case: &AnyCase| case.id().is_some_and(|id| OF_KINDS.contains(&id.generator));
        (0..EVERY_KIND).map(|index| self.random(seed, index).current()).filter(is_kind).collect()
    }

    /// Mostly random scenes; one in four has a field of its convention changed, and in one in four two inputs
    /// meet in turn. Of the first ones, one in eight has sizes about powers of two, each that is cheap once, then
    /// some that are larger: two hundred have all of them, and every change.
    fn random(&self, seed: u64, index: u64) -> CaseTree {
        let profile = self.profile(seed, index);
        let (name, turn) = match index % 8 {
            1 | 5 => ("fields", index / 4),
            3 | 6 => ("pairs", index / 4),
            7 => match index / 8 {
                turn @ 0..CHEAP_SIZES => ("sizes", turn),
                turn if turn - CHEAP_SIZES < LARGE => ("crowds", turn - CHEAP_SIZES),
                turn if turn - CHEAP_SIZES < 2 * LARGE => ("wide", turn - CHEAP_SIZES - LARGE),
                _ => ("typical", index),
            },
            _ => ("typical", index),
        };
        let draw = generators::Draw { profile, lane_width: 32, turn };
        let drawn = find(name).and_then(|row| row.draw(draw, seed, index));
        Box::new(Drawn(drawn.unwrap_or_else(|| unreachable!("{name} is made from nothing"))))
    }

    fn variants(&self, case: &AnyCase, view: usize) -> Result<Vec<Variant>, CaseError> {
        with_skipped(case, view)
    }

    fn axes(&self) -> Vec<Axis> {
        space::axes()
    }

    /// Of the kernels that evaluate harmonics; all others say what is built into them in other words.
    fn constants(&self) -> Vec<Constant> {
        vec![Constant::new(harmonics::COEFFICIENTS, Values::Sizes(&[1, 4, 9, 16]))]
    }

    fn fitted(&self, case: &AnyCase, stage: Stage, built_in: &BuiltIn) -> Option<AnyCase> {
        match harmonics::is_of_harmonics(stage) {
            true => harmonics::fitted(case, built_in),
            false => built_in.is_empty().then(|| Arc::clone(case)),
        }
    }

    fn is_for(&self, case: &AnyCase, stage: Stage, built_in: &BuiltIn) -> bool {
        match harmonics::is_of_harmonics(stage) {
            true => harmonics::is_for(case, built_in),
            false => built_in.is_empty(),
        }
    }

    fn extensions(&self) -> &'static [&'static str] {
        &corpus::EXTENSIONS
    }

    fn read(&self, file: &Path) -> Result<CaseFile, InputError> {
        if read::is_text(file) {
            let case = corpus::read_corpus_case(file)?;
            return Ok(CaseFile { case: Arc::new(case), notes: Notes::new() });
        }
        let case_file::CaseFile { case, notes } = case_file::read_case(file)?;
        Ok(CaseFile { case: Arc::new(case), notes })
    }
}

/// Whether a case has a Gaussian; one of another workload has what it is made of.
#[must_use]
pub fn has_gaussians(case: &AnyCase) -> bool {
    splat_case(case).is_none_or(|splats| !splats.scene.gaussians.is_empty())
}

/// How a scene gives its colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorForms {
    /// In either way.
    #[default]
    Both,
    /// Directly.
    Direct,
    /// As spherical harmonics.
    Harmonics,
}

impl ColorForms {
    /// Whether a case gives its colours so; one of another workload does not.
    #[must_use]
    pub fn has(self, case: &AnyCase) -> bool {
        let colors = splat_case(case).map(|splats| &splats.scene.gaussians.colors);
        match (self, colors) {
            (Self::Both, _) => true,
            (Self::Direct, Some(Colors::Direct { .. })) => true,
            (Self::Harmonics, Some(Colors::Harmonics { .. })) => true,
            (Self::Direct | Self::Harmonics, Some(_) | None) => false,
        }
    }
}

/// Which cameras a kernel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CameraForms {
    /// One alone: the kernel is given its numbers by value.
    pub one: bool,
    /// Those whose principal point is the image's middle: the kernel is given tangents of the field of view, which say
    /// nothing of another one, or the matrix of the whole projection, whose roundings the bounds hold for these
    /// (`reference/src/splat/project.rs`).
    pub middle: bool,
}

impl CameraForms {
    /// Whether a case has such cameras; any case has where nothing is demanded.
    #[must_use]
    pub fn has(self, case: &AnyCase) -> bool {
        let Some(splats) = splat_case(case) else { return self == Self::default() };
        let Scene { cameras, width, height, .. } = &splats.scene;
        let is_middle = |camera: &Camera<f32>| {
            [camera.cx, camera.cy].map(|c| 2.0 * c) == [*width, *height].map(f64::from)
        };
        (!self.one || cameras.len() == 1) && (!self.middle || cameras.iter().all(is_middle))
    }
}

/// Which cases of splats a kernel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// Their colours.
    pub colors: ColorForms,
    /// Their cameras.
    pub cameras: CameraForms,
}

impl Forms {
    /// Whether a case is one of them.
    #[must_use]
    pub fn has(self, case: &AnyCase) -> bool {
        self.colors.has(case) && self.cameras.has(case)
    }

    /// What cases have that are not among them.
    #[must_use]
    pub fn lacks(self) -> Vec<&'static str> {
        let Self { colors, cameras: CameraForms { one, middle } } = self;
        let colors = match colors {
            ColorForms::Both => None,
            ColorForms::Direct => Some("colours by harmonics (sh), which the kernel does not take"),
            ColorForms::Harmonics => Some("direct colours, which the kernel does not take"),
        };
        let one = one.then_some("several cameras, where the kernel is given the numbers of one");
        let middle = middle.then_some(
            "a principal point beside the image's middle, which projmats and tan_fovx are not given for",
        );
        [colors, one, middle].into_iter().flatten().collect()
    }
}

/// Whether a case has that number of channels; any splats do where none is named, and other cases too.
#[must_use]
pub fn has_channels(case: &AnyCase, channels: Option<u32>) -> bool {
    channels.is_none_or(|channels| {
        splat_case(case).is_some_and(|splats| splats.scene.channels() == channels as usize)
    })
}
