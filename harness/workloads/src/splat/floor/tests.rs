use std::cell::Cell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use splatcheck_reference::arithmetic::{Arith, ExtraRoundings};
use splatcheck_reference::splat::pair::{alpha_vjp, blend_vjp, sigma};

use super::*;
use crate::splat::contributions::Contributions;

thread_local!(static OPERATIONS: Cell<u64> = const { Cell::new(0) });

/// A number that counts what is done with it.
#[derive(Clone, Copy, Debug)]
struct Counted;

fn count() -> Counted {
    OPERATIONS.set(OPERATIONS.get() + 1);
    Counted
}

macro_rules! counts {
    ($($operator:ident $method:ident),*) => {$(
        impl $operator for Counted {
            type Output = Self;
            fn $method(self, _: Self) -> Self {
                count()
            }
        }
    )*};
}

counts!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Counted {
    type Output = Self;
    fn neg(self) -> Self {
        self
    }
}

impl Arith for Counted {
    fn like(self, _: f64) -> Self {
        self
    }
    fn exp(self) -> Self {
        count()
    }
    fn sqrt(self) -> Self {
        count()
    }
    fn min(self, _: Self) -> Self {
        self
    }
    fn max(self, _: Self) -> Self {
        self
    }
}

fn operations(work: impl FnOnce()) -> u64 {
    OPERATIONS.set(0);
    work();
    OPERATIONS.get()
}

/// The counts of floor.rs are those of the formulas that oracle and kernels share.
#[test]
fn operations_are_those_of_the_formulas() {
    let x = Counted;
    let evaluated = operations(|| {
        let gauss = (-sigma([x; 3], x - x, x - x)).exp();
        let _ = x * gauss;
    });
    assert_eq!(evaluated, EVALUATED, "of an evaluated pair");
    for channels in [1_u16, 3, 32] {
        let d = usize::from(channels);
        let contributing = operations(|| {
            let (mut behind, mut v_color) = (vec![x; d], vec![x; d]);
            let (transmittance, none) = (x / x, ExtraRoundings::NONE);
            let blended = blend_vjp(
                x,
                transmittance,
                &vec![x; d],
                &vec![x; d],
                &mut behind,
                &mut v_color,
                none,
            );
            let v_alpha = blended + (x / x) * x;
            let gradient = alpha_vjp([x; 3], [x; 2], x, x, v_alpha, none).to_array();
            gradient.into_iter().chain(v_color).for_each(|value| {
                let _ = x + value;
            });
        });
        // alpha_vjp multiplies opacity and gauss again, which the kernels keep.
        let expected = CONTRIBUTING + CHANNEL * u64::from(channels);
        assert_eq!(contributing - 1, expected, "of a pair with {channels} channels");
    }
}

#[test]
fn one_pixel_and_two_gaussians_by_hand() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpora/splat");
    let case = crate::splat::files::corpus::read_corpus_case(&path.join("one-pixel.toml"));
    let mut stage = RasterStage::new(&case.expect("a scene"), 0).expect("few pairs");
    let raster = &mut stage.inputs.raster;
    assert_eq!((raster.width, raster.height, raster.channels), (1, 1, 3), "the scene has changed");
    raster.means2d = vec![[0.5; 2], [90.0; 2], [0.5; 2]];
    raster.conics = vec![[1.0, 0.0, 1.0]; 3];
    raster.opacities = vec![0.5; 3];
    raster.colors = vec![0.5; 9];
    raster.flatten_ids = vec![0, 1, 2];
    raster.tile_offsets = vec![0, 3];
    // The pixel stopped at the second entry, which is too far away to contribute.
    stage.inputs.last_ids = vec![1];
    let steps = Contributions::new(&stage, 32).expect("a valid stage");
    let work = Work::new(&stage, &Counts::new(&steps));
    let expected = Work {
        channels: 3,
        pixels: 1,
        tiles: 1,
        entries: 2,
        evaluated: 2,
        contributing: 1,
        read: 2,
        touched: 1,
    };
    assert_eq!(work, expected, "what is there to do");
    assert_eq!(work.flops(), 2 * 13 + 29 + 9 * 3, "operations");
    assert_eq!(work.bytes(), 4 * (2 + 2 + 2 * 9 + 6 + 2 * 9), "bytes");
    let peak = Peak { flops_per_second: 1e3, bytes_per_second: 4e3 };
    let floor = work.floor(&peak);
    assert_eq!((floor.arithmetic_ms, floor.memory_ms), (82.0, 46.0), "milliseconds");
    assert_eq!(floor.milliseconds().to_bits(), 82.0_f64.to_bits(), "the larger");
}
