//! Special functions, and the second operands of functions of two.

use super::super::super::table::Library;
use super::*;

macro_rules! special {
    ($name:literal, $interval:expr, $library:ident) => {
        known($name, $interval, |x| own(Library::$library, x), |x| own_slope(Library::$library, x))
    };
}

/// The table's functions have tests of their own, against integrals and identities.
pub(super) const SPECIAL: [Known; 10] = [
    special!("erfinvf", [-0.99, 0.99], ErfInverse),
    special!("erfcinvf", [0.01, 1.99], ErfcInverse),
    special!("erfcxf", [-3.0, 15.0], Erfcx),
    special!("normcdfinvf", [0.01, 0.99], NormalInverse),
    special!("cyl_bessel_i0f", [-10.0, 10.0], I0),
    special!("cyl_bessel_i1f", [-10.0, 10.0], I1),
    special!("j0f", [-20.0, 20.0], J0),
    special!("j1f", [-20.0, 20.0], J1),
    special!("y0f", [0.1, 20.0], Y0),
    special!("y1f", [0.1, 20.0], Y1),
];

/// Of these x is the second operand, and the first one what is the second elsewhere.
pub(super) const SECOND_OPERANDS: [Known; 4] = [
    known("powf_second", [-5.0, 5.0], |x| SECOND.powf(x), |x| SECOND.ln() * SECOND.powf(x)),
    known(
        "atan2f_second",
        [-5.0, 5.0],
        |x| SECOND.atan2(x),
        |x| -SECOND / (x * x + SECOND * SECOND),
    ),
    known("hypotf_second", [-5.0, 5.0], |x| SECOND.hypot(x), |x| x / SECOND.hypot(x)),
    known(
        "rhypotf_second",
        [-5.0, 5.0],
        |x| 1.0 / SECOND.hypot(x),
        |x| -x / SECOND.hypot(x).powi(3),
    ),
];

/// As bare PTX the polynomial is followed, and its uncertainty covers the function and its derivative. Of most special
/// functions that is wide: their polynomials are known by their form alone, and by variables far above 1.
#[test]
fn special_functions_without_markers_are_inside_what_their_polynomials_are_uncertain_by() {
    for text in [ptx("bare"), ptx("bare_fast")] {
        for function in SPECIAL.iter().chain(&SECOND_OPERANDS) {
            let Compared { value, slope, value_c, slope_c, ratio } =
                compare(function, &text, 32, &Schedule::lockstep());
            let name = function.name;
            assert!(ratio <= 1.0, "{name}: {ratio} times its uncertainty, {value:e}, {slope:e}");
            let sharp = name == "erfcxf" || name.ends_with("_second");
            assert!(
                !sharp || value_c < 1e-5 && slope_c < 1e-4,
                "{name}: uncertain by {value_c:e}, {slope_c:e}"
            );
        }
    }
}
