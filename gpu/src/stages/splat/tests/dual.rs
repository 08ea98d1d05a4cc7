//! Numbers with their derivatives by everything that goes into one projection: the gradients
//! expected of `project_backward` come from the formulas of `project` alone.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// Places of the variables: a Gaussian's mean, quat, scale and opacity, the camera's upper three
/// rows, the colour as it is given.
pub(super) const MEAN: usize = 0;
pub(super) const QUAT: usize = 3;
pub(super) const SCALE: usize = 7;
pub(super) const OPACITY: usize = 10;
pub(super) const CAMERA: usize = 11;
pub(super) const COLOR: usize = 23;
const VARIABLES: usize = COLOR + 48;

/// A value and its partial derivatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dual {
    pub(super) x: f64,
    pub(super) d: [f64; VARIABLES],
}

impl Dual {
    pub(super) fn constant(x: f64) -> Self {
        Self { x, d: [0.0; VARIABLES] }
    }

    pub(super) fn variable(place: usize, x: f32) -> Self {
        let mut d = [0.0; VARIABLES];
        d[place] = 1.0;
        Self { x: f64::from(x), d }
    }

    fn chain(x: f64, parts: [(f64, &Self); 2]) -> Self {
        let [(a, p), (b, q)] = parts;
        Self { x, d: std::array::from_fn(|i| a * p.d[i] + b * q.d[i]) }
    }

    pub(super) fn sqrt(self) -> Self {
        let root = self.x.sqrt();
        Self::chain(root, [(0.5 / root, &self), (0.0, &self)])
    }

    /// The product with a constant that kernels round to f32, and a multiple of it in derivatives
    /// likewise: once.
    pub(super) fn times_rounded(self, c: f64) -> Self {
        let rounded = f64::from(crate::exact::single(c));
        Self { x: rounded * self.x, d: self.d.map(|d| c * d) }
    }

    /// This value with derivatives `factor` times as large.
    pub(super) fn with_gradient_times(self, factor: f64) -> Self {
        Self { x: self.x, d: self.d.map(|d| factor * d) }
    }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self::chain(self.x + o.x, [(1.0, &self), (1.0, &o)])
    }
}

impl Sub for Dual {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self::chain(self.x - o.x, [(1.0, &self), (-1.0, &o)])
    }
}

impl Mul for Dual {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self::chain(self.x * o.x, [(o.x, &self), (self.x, &o)])
    }
}

impl Div for Dual {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let x = self.x / o.x;
        Self::chain(x, [(1.0 / o.x, &self), (-x / o.x, &o)])
    }
}

impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        Self::constant(0.0) - self
    }
}

impl Mul<f64> for Dual {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::constant(factor) * self
    }
}

pub(super) type Vector = [Dual; 3];

pub(super) fn dot(a: Vector, b: Vector) -> Dual {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
