//! The conventions of splats, as typed.

use clap::ValueEnum;
use splatcheck_reference::splat::convention::{Convention, Profile};

/// A published convention, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConventionName {
    /// 3D Gaussian Splatting and DISTWAR
    Inria,
    /// gsplat
    Gsplat,
}

impl ConventionName {
    /// The profile of that name.
    #[must_use]
    pub fn profile(self) -> Profile {
        match self {
            Self::Inria => Profile::Inria,
            Self::Gsplat => Profile::Gsplat,
        }
    }

    /// The convention of that name.
    #[must_use]
    pub fn convention(self) -> Convention {
        Convention::of(self.profile())
    }
}
