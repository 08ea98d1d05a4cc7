//! Normalized device coordinates, in which 3D Gaussian Splatting reports the gradients of means: an image is two units
//! wide and high, so that a unit is half a side.

/// Half a side of an image, exactly.
#[expect(clippy::cast_precision_loss, reason = "an image's sides are far below 2^24")]
pub(crate) fn half_side(side: usize) -> f32 {
    side as f32 * 0.5
}

/// A gradient by pixels as one by normalized device coordinates, along an axis of an image of these sides.
pub(crate) fn by_ndc(v: f32, axis: usize, size: [usize; 2]) -> f32 {
    v * half_side(size[axis])
}
