use splatcheck_emulator::{Module, Schedule};

use super::*;
use crate::gradcheck::{Values, accuracy, compare_all, exact_arrays};

/// The right kernels of a system of integers.
pub(super) fn module(name: &str) -> Module {
    let systems = systems(&[name.to_owned()]).unwrap();
    let [System::Integers(system)] = &systems[..] else { panic!("{systems:?}") };
    Module::parse(&system.files[""]).unwrap()
}

/// A system of floats.
fn floats(name: &str) -> Floats {
    let mut systems = systems(&[name.to_owned()]).unwrap();
    let Some(System::Floats(system)) = systems.pop() else { panic!("{name}: {systems:?}") };
    *system
}

/// A case of these sizes, in which some numbers of an array are others.
fn spoiled(system: &Floats, sizes: &[(&str, i64)], array: &str, numbers: &[(usize, f32)]) -> Case {
    let sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    let mut case = Case::of_sizes(&system.manifest, &sizes, 1, 1).unwrap();
    spoil(&mut case, array, numbers);
    case
}

/// Puts numbers into an array of a case.
fn spoil(case: &mut Case, array: &str, numbers: &[(usize, f32)]) {
    let Values::Floats(_, all) = &mut case.arrays.get_mut(array).unwrap().values else {
        panic!("{array} has floats")
    };
    for (index, number) in numbers {
        all[*index] = *number;
    }
}

/// Every reduction ends without a fault, and all numbers of these arrays are finite.
fn all_end(system: &Floats, case: &Case, finite: &[&str]) {
    for reduction in system.reductions() {
        let program = system.program(reduction).unwrap();
        for schedule in [Schedule::lockstep(), Schedule::adversarial(3)] {
            let checked = check(&system.manifest, &program, case, &schedule).unwrap();
            assert!(!checked.is_wrong(), "{}, {reduction}: {checked:?}", system.name);
            let ran = accuracy(&system.manifest, &program, case, &schedule).unwrap();
            assert!(!ran.is_wrong(), "{}, {reduction}: {ran:?}", system.name);
            for name in finite {
                let judged = ran.arrays.iter().find(|judged| judged.name == *name).unwrap();
                assert_eq!(judged.unknown, 0, "{}, {reduction}: {name}: {ran:?}", system.name);
            }
        }
    }
}

/// What the forward kernels make of a case.
fn forward(system: &Floats, case: &Case, output: &str) -> Vec<f64> {
    let program = system.program(BASELINE).unwrap();
    let all = exact_arrays(&system.manifest, &program, case, &Schedule::lockstep()).unwrap();
    let name = format!("f32_{output}");
    all.into_iter().find(|entry| entry.name == name).unwrap().values().to_vec()
}

#[test]
fn a_source_has_a_mark_for_each_bug_that_is_planted_and_no_other() {
    let source =
        "const BUG = 0u;\nx = y; // bug 1\nif BUG != 1u {} // bug 2\nselect(a, b, BUG == 12u);";
    let planted = planted_in_wgsl(source);
    let names: Vec<_> = planted.keys().map(String::as_str).collect();
    assert_eq!(names, ["bug1-wgsl", "bug12-wgsl"]);
    assert!(planted["bug12-wgsl"].starts_with("const BUG = 12u;\n"), "{planted:?}");
    let marks = marked("mine.wgsl", source, "-wgsl");
    let refused = agree_on_bugs(("mine", WGSL), (&marks, &planted)).unwrap_err().to_string();
    let words = "mine: the marks in mine.wgsl are bug1-wgsl, bug2-wgsl, and bug1-wgsl, bug12-wgsl are planted: ";
    assert!(refused.starts_with(words), "{refused}");
    let whole = source.replace("12u", "2u");
    agree_on_bugs(("mine", WGSL), (&marks, &planted_in_wgsl(&whole))).unwrap();
    let without = whole.replace(NO_BUG, "");
    let refused = agree_on_bugs(("mine", WGSL), (&marks, &planted_in_wgsl(&without))).unwrap_err();
    assert!(refused.to_string().contains("and none are planted"), "{refused}");
    let either = Mark::Array("v_first or v_second".to_owned());
    for (words, named) in
        [("v_first, element 0", true), ("v_second is", true), ("v_firsts is", false)]
    {
        let found = Explained::of(words.to_owned(), None);
        assert_eq!(either.is_named(&found), named, "{words}");
    }
    let refused = floats("spheres").program("bug4").unwrap_err().to_string();
    assert_eq!(refused, "spheres: there is no variant 'bug4': make the archive anew");
}

#[test]
fn kernels_of_which_nothing_was_compared_are_named() {
    for name in [KernelMaps::NAME, GatherScatter::NAME] {
        let systems = systems(&[name.to_owned()]).unwrap();
        let judged = systems[0].judge(0, 0).unwrap();
        assert_eq!((judged.compared, judged.wrong.len()), (0, 0), "{name}");
        assert!(judged.idle.contains(&"atomic: nothing was judged".to_owned()), "{judged:?}");
        assert!(judged.bugs.values().all(|(_, named)| *named == Named::NotYet), "{judged:?}");
    }
}

#[test]
fn a_lookup_at_no_place_is_black_and_has_no_gradient() {
    let system = floats("texture");
    for filter in 0..3 {
        let sizes = [("P", 40), ("W", 5), ("H", 3), ("C", 2), ("filter", filter), ("threshold", 2)];
        let numbers = [(0, f32::NAN), (3, f32::INFINITY), (4, f32::NEG_INFINITY), (7, -3e38)];
        let case = spoiled(&system, &sizes, "uv", &numbers);
        all_end(&system, &case, &["render_colors", "v_uv", "v_textures"]);
        let colors = forward(&system, &case, "render_colors");
        assert_eq!(colors[..6], [0.0; 6], "lookups 0 to 2 are at no place");
        assert!(colors[6..].iter().all(|color| *color != 0.0), "the others are: {colors:?}");
    }
}

/// The filters are what they are called: all weigh a texture of one colour by 1, and in a texel's centre those that
/// interpolate give the texel.
#[test]
fn filters_of_a_texture_keep_a_colour_and_some_interpolate() {
    let system = floats("texture");
    for filter in 0..3 {
        let sizes = [("P", 40), ("W", 5), ("H", 3), ("C", 1), ("filter", filter), ("threshold", 2)];
        let even: Vec<(usize, f32)> = (0..15).map(|texel| (texel, 0.75)).collect();
        let case = spoiled(&system, &sizes, "textures", &even);
        let colors = forward(&system, &case, "render_colors");
        assert!(colors.iter().all(|color| (color - 0.75).abs() < 1e-6), "{filter}: {colors:?}");
        // Texel (3, 1) alone, and its neighbour's centre.
        let mut case = spoiled(&system, &sizes, "uv", &[(0, 0.7), (1, 0.5), (2, 0.5), (3, 0.5)]);
        let one: Vec<_> =
            (0..15).map(|texel| (texel, if texel == 8 { 1.0 } else { 0.0 })).collect();
        spoil(&mut case, "textures", &one);
        let colors = forward(&system, &case, "render_colors");
        // The B-spline has 2/3 in the middle and 1/6 beside it.
        let expected = if filter == 1 { [4.0 / 9.0, 1.0 / 9.0] } else { [1.0, 0.0] };
        for (color, expected) in colors.iter().zip(expected) {
            assert!((color - expected).abs() < 1e-5, "filter {filter}: {color} for {expected}");
        }
    }
}

#[test]
fn a_triangle_without_an_area_covers_nothing() {
    let system = floats("triangles");
    let sizes = [("P", 40), ("S", 12), ("V", 5), ("H", 300), ("threshold", 2)];
    // All on a line, two of them at one place; one that is no number. Some triangles have a vertex twice.
    let vertices = [[-1.0, -0.5], [0.0, 0.0], [1.0, 0.5], [1.0, 0.5], [f32::NAN, 1.0]];
    let numbers: Vec<(usize, f32)> = (0..).zip(vertices.into_iter().flatten()).collect();
    let case = spoiled(&system, &sizes, "vertices", &numbers);
    let all = ["render_colors", "v_vertices", "v_sigmas", "v_colors", "v_opacities"];
    all_end(&system, &case, &all);
    assert!(forward(&system, &case, "render_colors").iter().all(|color| *color == 0.0));
}

#[test]
fn a_ray_through_the_middle_of_a_sphere_and_spheres_that_are_none_have_finite_gradients() {
    let system = floats("spheres");
    let sizes = [("P", 40), ("S", 4), ("H", 120), ("threshold", 2)];
    // The centre of the first sphere is on the axis, that of the second is no number, the others have no radius.
    let numbers = [(0, 0.0), (1, 0.0), (2, 1.0), (3, f32::NAN)];
    let mut case = spoiled(&system, &sizes, "means", &numbers);
    // All rays lie on the axis.
    spoil(&mut case, "pixels", &(0..80).map(|at| (at, 0.0)).collect::<Vec<_>>());
    spoil(&mut case, "radii", &[(2, 0.0), (3, -1.0)]);
    let all = ["render_colors", "v_means", "v_radii", "v_colors", "v_opacities", "v_gammas"];
    all_end(&system, &case, &all);
}

/// There a fisheye's direction has no slope by the way around, and equal poses have no arc between them.
#[test]
fn a_ray_through_the_middle_of_a_fisheye_that_does_not_turn_has_a_finite_gradient() {
    let system = floats("unscented");
    let sizes = [("G", 3), ("R", 8), ("H", 60), ("model", 1), ("order", 1), ("threshold", 2)];
    let pixels: Vec<(usize, f32)> = (0..16).map(|at| (at, 16.0)).collect();
    let mut case = spoiled(&system, &sizes, "pixels", &pixels);
    spoil(&mut case, "center", &[(0, 16.0), (1, 16.0)]);
    spoil(&mut case, "rotations", &[(0, 0.1), (1, 0.2), (2, 0.3), (3, 0.1), (4, 0.2), (5, 0.3)]);
    let all = ["alphas", "depths", "v_center", "v_focal", "v_rotations", "v_translations"];
    all_end(&system, &case, &all);
}

/// More points than 16 bits count, and than any block holds.
#[test]
fn lenses_agree_with_atomic_at_65_537_points() {
    let system = floats("lenses");
    let manifest = system.alike();
    let baseline = system.program(BASELINE).unwrap();
    let all: Vec<_> = system.reductions().filter(|reduction| *reduction != BASELINE).collect();
    for model in 0..4 {
        let sizes = [("warps", 2048), ("beside", 2), ("threshold", 9), ("model", model)];
        let case = spoiled(&system, &sizes, "points", &[]);
        assert_eq!(case.sizes["N"], 65_537);
        let programs: Vec<_> = all.iter().map(|name| system.program(name).unwrap()).collect();
        let others = programs.iter().map(|program| (program, &case));
        let checked =
            compare_all(&manifest, (&baseline, &case), others, &Schedule::lockstep()).unwrap();
        for (name, checked) in all.iter().zip(checked) {
            assert_eq!(difference(BASELINE, &checked), None, "{name}, model {model}");
            assert!(checked.compared() > 390_000, "{name}, model {model}: {}", checked.compared());
        }
    }
}
