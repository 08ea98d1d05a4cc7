//! Functions of CUDA's library, as NVRTC 12.4 compiles them: `functions/header.py` writes the kernels.

mod algebraic;
mod special;

use std::io::Read;

use super::run::{Outcome, execute, schedules};
use crate::{Module, Schedule, Seed};

/// The kernels of `functions/ptx.tar.zst`: bare or marked, plain or fast.
fn ptx(name: &str) -> String {
    let archive: &[u8] = include_bytes!("../functions/ptx.tar.zst");
    let plain = ruzstd::decoding::StreamingDecoder::new(archive).expect("an archive by zstd");
    let mut tar = tar::Archive::new(plain);
    let mut text = String::new();
    for entry in tar.entries().expect("a tar") {
        let mut entry = entry.expect("an entry");
        if entry.path().expect("a path").file_stem().is_some_and(|stem| stem == name) {
            entry.read_to_string(&mut text).expect("a text");
        }
    }
    assert!(!text.is_empty(), "there is no {name}.ptx");
    text
}

/// By kernel: the interval that operands are from, the function and its derivative.
struct Known {
    name: &'static str,
    from: f64,
    to: f64,
    value: fn(f64) -> f64,
    slope: fn(f64) -> f64,
}

/// The second operand of functions of two.
const SECOND: f64 = 1.700_000_047_683_715_8;

fn erf_slope(x: f64) -> f64 {
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp()
}

const fn known(
    name: &'static str,
    [from, to]: [f64; 2],
    value: fn(f64) -> f64,
    slope: fn(f64) -> f64,
) -> Known {
    Known { name, from, to, value, slope }
}

use std::f64::consts::{LN_2, LN_10, PI};

use super::super::table::{Function, Library, partials, value};

fn own(library: Library, x: f64) -> f64 {
    value(Function::Library(library), [x, SECOND, 0.0])
}

fn own_slope(library: Library, x: f64) -> f64 {
    partials(Function::Library(library), [x, SECOND, 0.0], own(library, x))[0]
}

/// The platform's functions where it has them, else the table's, which have tests of their own.
const ALL: [Known; 35] = [
    known("expf", [-20.0, 20.0], f64::exp, f64::exp),
    known("exp10f", [-8.0, 8.0], |x| 10.0_f64.powf(x), |x| LN_10 * 10.0_f64.powf(x)),
    known("expm1f", [-3.0, 3.0], f64::exp_m1, f64::exp),
    known("logf", [0.01, 50.0], f64::ln, |x| 1.0 / x),
    known("log10f", [0.01, 50.0], f64::log10, |x| 1.0 / (x * LN_10)),
    known("log1pf", [-0.5, 5.0], f64::ln_1p, |x| 1.0 / (1.0 + x)),
    known("sinf", [-10.0, 10.0], f64::sin, f64::cos),
    known("cosf", [-10.0, 10.0], f64::cos, |x| -x.sin()),
    known("tanf", [-1.4, 1.4], f64::tan, |x| 1.0 / x.cos().powi(2)),
    known("sinpif", [-3.0, 3.0], |x| own(Library::SinPi, x), |x| PI * own(Library::CosPi, x)),
    known("cospif", [-3.0, 3.0], |x| own(Library::CosPi, x), |x| -PI * own(Library::SinPi, x)),
    known("asinf", [-0.99, 0.99], f64::asin, |x| 1.0 / (1.0 - x * x).sqrt()),
    known("acosf", [-0.99, 0.99], f64::acos, |x| -1.0 / (1.0 - x * x).sqrt()),
    known("atanf", [-5.0, 5.0], f64::atan, |x| 1.0 / (1.0 + x * x)),
    known("sinhf", [-5.0, 5.0], f64::sinh, f64::cosh),
    known("coshf", [-5.0, 5.0], f64::cosh, f64::sinh),
    known("tanhf", [-4.0, 4.0], f64::tanh, |x| 1.0 / x.cosh().powi(2)),
    known("asinhf", [-5.0, 5.0], f64::asinh, |x| 1.0 / x.hypot(1.0)),
    known("acoshf", [1.1, 9.0], f64::acosh, |x| 1.0 / (x * x - 1.0).sqrt()),
    known("atanhf", [-0.95, 0.95], f64::atanh, |x| 1.0 / (1.0 - x * x)),
    known("erff", [-3.0, 3.0], |x| own(Library::Erf, x), erf_slope),
    known("erfcf", [-2.0, 4.0], |x| own(Library::Erfc, x), |x| -erf_slope(x)),
    known(
        "normcdff",
        [-3.0, 3.0],
        |x| own(Library::NormCdf, x),
        |x| own_slope(Library::NormCdf, x),
    ),
    known("lgammaf", [0.2, 6.0], |x| own(Library::LnGamma, x), |x| own_slope(Library::LnGamma, x)),
    known("tgammaf", [0.2, 6.0], |x| own(Library::Gamma, x), |x| own_slope(Library::Gamma, x)),
    known("cbrtf", [0.01, 50.0], f64::cbrt, |x| x.cbrt() / (3.0 * x)),
    known("rcbrtf", [0.01, 50.0], |x| 1.0 / x.cbrt(), |x| -1.0 / (3.0 * x * x.cbrt())),
    known("exp2f", [-20.0, 20.0], f64::exp2, |x| LN_2 * x.exp2()),
    known("log2f", [0.01, 50.0], f64::log2, |x| 1.0 / (x * LN_2)),
    known("powf", [0.01, 20.0], |x| x.powf(SECOND), |x| SECOND * x.powf(SECOND - 1.0)),
    known("atan2f", [-5.0, 5.0], |x| x.atan2(SECOND), |x| SECOND / (x * x + SECOND * SECOND)),
    known("hypotf", [-5.0, 5.0], |x| x.hypot(SECOND), |x| x / x.hypot(SECOND)),
    known("rhypotf", [-5.0, 5.0], |x| 1.0 / x.hypot(SECOND), |x| -x / x.hypot(SECOND).powi(3)),
    known("rsqrtf", [0.01, 50.0], |x| 1.0 / x.sqrt(), |x| -0.5 * x.powf(-1.5)),
    known("sincosf", [-5.0, 5.0], |x| x.sin() * x.cos(), |x| (2.0 * x).cos()),
];

/// 32 numbers at a time from an interval.
fn operands(function: &Known, part: u32) -> Vec<f32> {
    let at = |lane: u32| (f64::from(part * 32 + lane) + 0.5) * 0.618_033_988_75;
    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is asked for")]
    let single = |lane| (function.from + (function.to - function.from) * at(lane).fract()) as f32;
    (0..32).map(single).collect()
}

/// The kernel of a function alone.
fn renamed(text: &str, function: &Known) -> String {
    let (entry, name) = (".visible .entry ", format!("k_{}(", function.name));
    let head = text.find(entry).expect("there are kernels");
    let from = text.find(&format!("{entry}{name}")).expect("it has a kernel");
    let to = text[from..].find("\n}\n").map_or(text.len(), |end| from + end + 3);
    format!("{}{}", &text[..head], text[from..to].replace(&name, "k("))
}

fn outcome(text: &str, x: &[f32], schedule: &Schedule) -> Outcome {
    execute(text, x, schedule)
}

/// Values and slopes of a kernel beside those of its function: how far each is off, by what it is
/// uncertain, and by the largest value or slope.
struct Compared {
    value: f64,
    slope: f64,
    value_c: f64,
    slope_c: f64,
    /// The largest error in units of the uncertainty.
    ratio: f64,
}

fn compare(function: &Known, text: &str, parts: u32, schedule: &Schedule) -> Compared {
    let text = renamed(text, function);
    let mut all = Compared { value: 0.0, slope: 0.0, value_c: 0.0, slope_c: 0.0, ratio: 0.0 };
    for part in 0..parts {
        let x = operands(function, part);
        let outcome = outcome(&text, &x, schedule);
        assert_eq!(outcome.memory.losses(), [], "{} loses nothing", function.name);
        let (values, slopes) = (outcome.values(), outcome.slopes());
        let singles = outcome.singles();
        for lane in 0..32 {
            let at = f64::from(x[lane]);
            let (y, d) = ((function.value)(at), (function.slope)(at));
            let own = 1e-14;
            let errors = [(values[lane].value - y).abs(), (slopes[lane].value - d).abs()];
            let c = [values[lane].uncertainty, slopes[lane].uncertainty];
            all.value = all.value.max(errors[0] / (y.abs() + 1e-3));
            all.slope = all.slope.max(errors[1] / (d.abs() + 1e-3));
            all.value_c = all.value_c.max(c[0] / (y.abs() + 1e-3));
            all.slope_c = all.slope_c.max(c[1] / (d.abs() + 1e-3));
            for (error, (c, size)) in errors.into_iter().zip(c.into_iter().zip([y, d])) {
                all.ratio = all.ratio.max(error / (c + own * (size.abs() + 1e-2)));
            }
            let off = (f64::from(singles[lane]) - values[lane].value).abs();
            assert!(off <= values[lane].radius, "{} at {at}: outside its radius", function.name);
        }
    }
    all
}

#[test]
fn functions_between_markers_are_exact() {
    for text in [ptx("marked"), ptx("marked_fast")] {
        let second = special::SECOND_OPERANDS.iter();
        let all = ALL.iter().chain(&special::SPECIAL).chain(second);
        for function in all.filter(|function| function.name != "rsqrtf") {
            for schedule in schedules().into_iter().take(3) {
                let found = compare(function, &text, 8, &schedule);
                let Compared { value, slope, value_c, slope_c, ratio } = found;
                let name = function.name;
                assert!(
                    ratio <= 1.0,
                    "{name}: {ratio} times its uncertainty, {value:e}, {slope:e}"
                );
                // Where ln gamma is 0 its terms are not, nor what functions of Bessel's are the sum of; the other
                // operand of functions of two is a rounded literal.
                let sharp = match name {
                    "lgammaf" => [1e-9, 1e-12],
                    "j0f" | "j1f" | "y0f" | "y1f" => [1e-10, 1e-10],
                    "powf" | "atan2f" | "hypotf" | "rhypotf" => [1e-6, 1e-6],
                    name if name.ends_with("_second") => [1e-6, 1e-6],
                    _ => [1e-12, 1e-12],
                };
                assert!(
                    value_c < sharp[0] && slope_c < sharp[1],
                    "{name}: uncertain by {value_c:e}, {slope_c:e}"
                );
            }
        }
    }
}

/// The header that is given away is the one that these kernels were compiled with.
#[test]
fn the_header_has_a_marker_for_every_function() {
    let all = ALL.iter().chain(&special::SPECIAL);
    for function in all.filter(|function| function.name != "rsqrtf") {
        let defined = format!("#define {} splatcheck_{}\n", function.name, function.name);
        assert!(crate::MARKERS.contains(&defined), "{}", function.name);
    }
    for text in [ptx("marked"), ptx("bare")] {
        let module = Module::parse(&text).expect("NVRTC's PTX");
        let others = special::SECOND_OPERANDS.len() + algebraic::ALGEBRAIC.len();
        let all = ALL.len() + special::SPECIAL.len() + others;
        assert_eq!(module.kernels().count(), all, "a kernel for each function");
    }
}

/// As bare PTX the polynomial is followed, and its uncertainty covers the function and its derivative.
#[test]
fn functions_without_markers_are_inside_what_their_polynomials_are_uncertain_by() {
    for text in [ptx("bare"), ptx("bare_fast")] {
        for function in &ALL {
            let Compared { value, slope, value_c, slope_c, ratio } =
                compare(function, &text, 32, &Schedule::lockstep());
            let name = function.name;
            assert!(ratio <= 1.0, "{name}: {ratio} times its uncertainty, {value:e}, {slope:e}");
            // Of the largest value or slope: not so wide that nothing could be judged.
            assert!(
                value_c < 1e-3 && slope_c < 3e-2,
                "{name}: uncertain by {value_c:e}, {slope_c:e}"
            );
            // The power is what colours go through.
            assert!(name != "powf" || slope_c < 1e-4, "{name}: uncertain by {slope_c:e}");
        }
    }
}

#[test]
fn a_polynomial_that_was_followed_is_named() {
    let of = |name: &str| {
        let function =
            ALL.iter().find(|function| function.name == name).expect("it is one of them");
        let text = renamed(&ptx("bare"), function);
        let outcome = execute(&text, &operands(function, 0), &Schedule::lockstep());
        outcome.memory.polynomials().collect::<Vec<_>>()
    };
    assert_eq!(of("tanhf"), ["tanhf"], "its literals are known");
    assert_eq!(of("erff"), ["erff"], "its literals are known");
    assert_eq!(of("powf"), ["powf"], "its literals are known");
    assert_eq!(of("expf"), [""; 0], "it is exact");
    assert_eq!(of("rsqrtf"), [""; 0], "it is exact");
}

/// Far from 0 CUDA's library reduces the operand by integers (Payne and Hanek), which carry no derivative: without
/// markers such a number is right within its uncertainty or known by nobody, and never without a derivative in silence.
#[test]
fn large_operands_of_sine_and_cosine_are_right_or_lost_aloud() {
    let mut lost = 0;
    for (name, text) in [("bare", ptx("bare")), ("marked", ptx("marked"))] {
        for known in
            ALL.iter().filter(|known| ["sinf", "cosf", "tanf", "sincosf"].contains(&known.name))
        {
            let far = Known { from: 106_000.0, to: 1e9, ..*known };
            let x = operands(&far, 0);
            let ran = outcome(&renamed(&text, &far), &x, &Schedule::lockstep());
            let ones = vec![1.0; x.len()];
            let seeds = [Seed { output: ran.output, gradient: &ones }];
            let gradient = ran.memory.gradient(&seeds).expect("there is a tape");
            let slopes = gradient.of(ran.input).expect("it is an input");
            for ((x, value), slope) in x.iter().zip(ran.values()).zip(slopes) {
                let at = f64::from(*x);
                let (y, d) = ((known.value)(at), (known.slope)(at));
                let unknown = !value.uncertainty.is_finite() || !slope.uncertainty.is_finite();
                if unknown {
                    lost += 1;
                    assert_eq!(
                        name, "bare",
                        "{} at {at}: between markers all is known",
                        known.name
                    );
                    let places =
                        ran.memory.losses().len() + gradient.unknown.len() + gradient.lost.len();
                    assert!(places > 0, "{} at {at}: lost, and nobody says where", known.name);
                    continue;
                }
                let off = [
                    (value.value - y).abs() - value.uncertainty,
                    (slope.value - d).abs() - slope.uncertainty,
                ];
                let own = 1e-12 * (1.0 + y.abs() + d.abs());
                assert!(
                    off.iter().all(|off| *off <= own),
                    "{name} {} at {at}: {off:?}",
                    known.name
                );
            }
        }
    }
    println!("{lost} numbers were lost aloud");
}
