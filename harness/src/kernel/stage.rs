//! Kernels of a stage whose arrays are its ports: of another workload than splats, or harmonics by themselves.

use std::marker::PhantomData;

use splatcheck_gpu::stage::Sizes;
use splatcheck_gpu::stages::{grid, scatter, splat};
use splatcheck_gpu::{Data, ShapeError, Stage, Tensors};

use super::inputs::{Inputs, WrongInputs};
use splatcheck_workloads::splat::contract::Level;

/// A stage of another workload than splats, as a type.
pub trait OfStage: Send + Sync + 'static {
    /// The stage.
    const STAGE: Stage;
}

macro_rules! stages {
    ($($(#[$doc:meta])* $name:ident = $stage:expr),+ $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl OfStage for $name {
                const STAGE: Stage = $stage;
            }
        )+
    };
}

stages! {
    /// Sums by key: reads `keys` \[N\], `values` \[N,V\], `initial` \[E,V\], returns `sums` \[E,V\].
    ScatterSums = scatter::SCATTER,
    /// The features of points in a grid encoding: returns `features` \[N,L,F\].
    GridForward = grid::GRID_FORWARD,
    /// The gradients of its table: returns `v_table` \[E,F\].
    GridBackward = grid::GRID_BACKWARD,
    /// The gradients of its points: returns `v_positions` \[N,d\].
    GridBackwardInput = grid::GRID_BACKWARD_INPUT,
    /// Spherical harmonics: reads `dirs` \[N,3\], `coeffs` \[N,K,3\], returns `colors` \[N,3\].
    SphericalHarmonics = splat::SPHERICAL_HARMONICS,
    /// Their gradients: reads `v_colors` \[N,3\] too, returns `v_coeffs` \[N,K,3\] and `v_dirs` \[N,3\].
    SphericalHarmonicsBackward = splat::SPHERICAL_HARMONICS_BACKWARD,
}

/// What a kernel of a stage reads: its arrays by their names.
#[derive(Clone, Debug, PartialEq)]
pub struct StageInputs<S> {
    /// The arrays; numbers by themselves have no dimension.
    pub arrays: Tensors,
    sizes: Sizes,
    stage: PhantomData<S>,
}

impl<S: OfStage> StageInputs<S> {
    /// An array of floats.
    ///
    /// # Panics
    /// The stage has no such input.
    #[must_use]
    pub fn f32(&self, name: &str) -> &[f32] {
        self.arrays.f32(name).unwrap_or_else(|error| panic!("{error}"))
    }

    /// An array of whole numbers, or one by itself as an array of one.
    ///
    /// # Panics
    /// As [`Self::f32`].
    #[must_use]
    pub fn u32(&self, name: &str) -> &[u32] {
        self.arrays.u32(name).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The value of a size, by its symbol: `"N"`.
    ///
    /// # Panics
    /// The stage has no such size.
    #[must_use]
    pub fn size(&self, symbol: &str) -> usize {
        self.sizes.get(symbol)
    }
}

impl<S: OfStage> Inputs for StageInputs<S> {
    /// Arrays of floats by the names of the stage's outputs.
    type Outputs = Vec<(&'static str, Vec<f32>)>;

    const LEVEL: Level = Level::Of(S::STAGE);

    fn of_job(inputs: &Tensors) -> Result<Self, WrongInputs> {
        let sizes = S::STAGE.sizes(inputs)?;
        Ok(Self { arrays: inputs.clone(), sizes, stage: PhantomData })
    }

    fn named(&self, outputs: &Self::Outputs) -> Result<Tensors, ShapeError> {
        let mut all = Tensors::new();
        for (name, values) in outputs {
            let port = S::STAGE.spec().outputs.iter().find(|port| port.name == *name);
            let shape = port.map_or_else(|| vec![values.len()], |port| port.shape_for(&self.sizes));
            all.array(name, &shape, Data::F32(values.clone()))?;
        }
        Ok(all)
    }
}
