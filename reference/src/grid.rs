//! Grid encodings: features of a point, interpolated between the entries that the vertices around it
//! have on each of several levels, and their gradients by the entries and by the point.
//!
//! Multi-resolution hash grids (Müller, Evans, Schied, Keller, "Instant Neural Graphics Primitives",
//! 2022), dense and tiled grids, lines and planes (d = 1 and 2), and grids of simplices. On a level
//! with scale s:
//!
//! * pos = s x + 1/2, c = floor(pos), t = pos - c by axis; u = S(t), see [`Interpolation`].
//! * y = the sum over b in {0,1}^d of `w_b` table\[entry(c + b)\], `w_b` the product over the axes of u
//!   or 1 - u. On a simplex lattice the axes are sorted by descending t into an order p; the vertices
//!   are `v_0` = c, `v_k` = `v_{k-1}` + `e_p(k)`, their weights 1 - `t_p(1)`, `t_p(1)` - `t_p(2)`, ...,
//!   `t_p(d)`. With a [`Skew`] pos is first moved along the diagonal.
//! * `v_table`\[e\] = the sum of `w_b` `v_y` over all points, levels and corners with that entry.
//! * `v_x`\[j\] = the sum over levels of s S'(`t_j`) times the sum over b without j of w times the sum
//!   over features of `v_y` (table\[entry(c + b + `e_j`)\] - table\[entry(c + b)\]); with a skew these sums
//!   g are taken back by g + (sqrt(d + 1) - 1) / d times the sum of g over the axes.
//!
//! How published programs differ is a field of [`Encoding`] each. What a vertex's entry is depends on
//! integers alone ([`Level::entry`]) and always lies within the level. The level table is an input: its
//! resolutions hang on single roundings of its scales.
//!
//! **Outside and not finite.** A point outside 0..=1 wraps, or has zeros ([`Outside`]). A point with a
//! coordinate on a level that is not finite, or beyond a 32-bit integer, has no cell there: its
//! features and its gradient are NaN, and it adds nothing to any entry.

pub mod bounds;
mod cell;
mod encoding;
pub mod gate;
mod levels;
mod profile;
mod stages;
mod table;
#[cfg(test)]
mod tests;

pub use encoding::{
    Crowded, DenseStride, Encoding, Hash, Interpolation, Lattice, Outside, PositionOffset,
    RightCorner, Skew, UnknownSetting,
};
pub use levels::{ComputedScales, Growth, LevelBounds, levels};
pub use profile::{EntriesRule, Profile, ScaleRule};
pub use stages::{Input, backward, backward_input, forward};
pub use table::{Grid, GridError, Level, MOST_DIMENSIONS};
