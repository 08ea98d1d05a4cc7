use super::*;
use crate::splat::rasterize::rasterize;
use crate::splat::render::project_scene;
use crate::splat::synthetic::frustum;

/// The lines of the stages that compare a number with a limit, and the decisions that they are.
///
/// Comparisons of whole numbers, such as of a tile's number with the image's, are the binning's.
const COMPARISONS: [(&str, &str, &[&str]); 7] = [
    (
        "project",
        include_str!("../project.rs"),
        &[
            "NearRule::Less => depth.less(near),",         // Near(Less)
            "NearRule::LessOrEqual => !near.less(depth),", // Near(LessOrEqual)
            "in_front | S::from_f64(convention.far).less(depth)", // Far
            "let left_out = culled | !zero.less(dets[1]);", // Determinant
            "let root = (sharp / blurred).root_above(0.0);", // SharpDeterminant
            // Whose roundings the bound has: no value depends on it.
            "if (b.less(a), (-b).less(a)) == (Tristate::Always, Tristate::Always) {",
            "limited[i] = slope.less(low) | high.less(slope);", // SlopeLow, SlopeHigh
            "let within = high.min(low.max(slope));",           // the same two
            "c.max(zero)",                                      // Color
        ],
    ),
    (
        "bin",
        include_str!("../bin.rs"),
        &[
            "let lambda = mid + discriminant(p.covariance).root_above(root_floor);", // RootFloor
            "let sigmas = S::from_f64(max_sigmas).min(cut(p.opacity, convention));", // MaxSigmas
            "(S::from_f64(2.0) * ratio.ln()).root_above(0.0)",                       // Opacity
            "[first.floor(), end].map(|x| (x.max(0.0) as u32).min(tiles))", // FirstTile, EndTile
        ],
    ),
    (
        "rasterize",
        include_str!("../rasterize.rs"),
        &[
            "let clamped = constants.alpha_max.min(raw);", // AlphaMax
            "let above = constants.zero.lt(power);",       // Power
            "let below = alpha.lt(constants.alpha_min);",  // AlphaMin
            "ClampGradient::Zero => raw.and(active, raw.not(self.alpha_max.lt(raw))),", // AlphaMax
            "(self.alpha_max / opacity).or_else(self.alpha_max.lt(raw), gauss)", // AlphaMax
            "false => t.lt(self.transmittance_min),",      // Transmittance(Less)
            "true => t.not(self.transmittance_min.lt(t)),", // Transmittance(LessOrEqual)
            "let running = stopped.lt(constants.one);",    // whether a pixel has stopped before
        ],
    ),
    ("sh", include_str!("../sh.rs"), &[]),
    (
        "backward/project",
        include_str!("../backward/project.rs"),
        &[
            "let v: V3<S> = std::array::from_fn(|i| S::choose(zero.less(unclamped[i]), v[i], zero));", // Color
        ],
    ),
    (
        "backward/project/compensation",
        include_str!("../backward/project/compensation.rs"),
        &[
            "if spellings.is_written() && zero.less(factor) == Tristate::Never {", // SharpDeterminant
        ],
    ),
    (
        "backward/rasterize",
        include_str!("../backward/rasterize.rs"),
        &[
            // How work is split, how long the walk is, and which pixels are in it: no limits.
            "let share = n.div_ceil(rayon::current_num_threads()).max(1);",
            "let ids = &self.ids[batch * BATCH..self.ids.len().min((batch + 1) * BATCH)];",
            "let active = mark.lt(zero.load(&block.last[lane..]));",
        ],
    ),
];

#[test]
fn every_comparison_of_the_stages_is_a_decision() {
    for (stage, text, known) in COMPARISONS {
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
        let compares = |line: &&str| {
            !line.starts_with("//")
                && [".less(", ".lt(", "root_above(", ".min(", ".max("]
                    .iter()
                    .any(|c| line.contains(c))
        };
        let found: Vec<_> = code.lines().map(str::trim).filter(compares).collect();
        assert_eq!(found, known, "{stage}: a comparison that no decision stands for");
    }
}

#[test]
fn the_walk_is_the_rasterization() {
    let [inria, gsplat] = [Convention::inria(), Convention::gsplat()];
    let late = Convention { stop_rule: StopRule::LessAfterBlending, ..inria };
    for convention in [inria, gsplat, late] {
        let convention = convention.rounded_to_f32();
        let mut scene = frustum(80, 37, 21, 3);
        scene.gaussians.opacities.iter_mut().step_by(3).for_each(|opacity| *opacity = 1.0);
        let projected = project_scene(&scene, 0, &convention).expect("few pairs");
        let view = projected.view(&scene, 0, &convention);
        let mut walk = Walk::new(&view);
        let expected = rasterize::<f32>(&view).transmittance;
        for (index, expected) in (0u32..).zip(&expected) {
            let [x, y] = [index % 37, index / 37];
            let tile = (y / 16 * view.lists.tiles[0] + x / 16) as usize;
            let t = walk.pixel([x, y], tile);
            assert_eq!(t.to_bits(), expected.to_bits(), "{:?}, pixel {x}, {y}", convention.profile);
        }
    }
}

fn of(scene: &Scene<f32>, convention: &Convention) -> Met {
    let convention = convention.rounded_to_f32();
    let projected = project_scene(scene, 0, &convention).expect("few pairs");
    decisions(scene, 0, &convention, &projected)
}

/// One Gaussian at depth 2 before a camera that looks along z.
fn one() -> Scene<f32> {
    let mut scene = frustum(1, 16, 16, 1);
    scene.gaussians.means[0] = [0.0, 0.0, 2.0];
    scene.gaussians.scales[0] = [0.1; 3];
    scene
}

#[test]
fn a_plane_at_the_depth_is_at_it() {
    let scene = one();
    for (near, side) in [(1.5, Side::Above), (2.0, Side::At), (3.0, Side::Below)] {
        let convention = Convention { near, ..Convention::inria() };
        let met = of(&scene, &convention);
        let near_plane = Decision::Near(NearRule::LessOrEqual);
        let sides: Vec<_> =
            met.iter().filter(|(d, _)| *d == near_plane).map(|(_, side)| *side).collect();
        assert_eq!(sides, [side], "near plane {near}");
        let seen = met.iter().any(|(d, _)| matches!(d, Decision::AlphaMin));
        assert_eq!(seen, side == Side::Above, "near plane {near}: pairs");
    }
}

#[test]
fn every_axis_limit_and_channel_is_told_apart() {
    let mut scene = one();
    scene.gaussians.scales[0] = [8.0; 3];
    scene.gaussians.means[0] = [20.0, 0.0, 2.0];
    let Colors::Harmonics { coefficients, .. } = scene.gaussians.colors else {
        panic!("the frustum has harmonics")
    };
    let mut values = vec![0.0; 3 * coefficients];
    values[1] = -4.0;
    scene.gaussians.colors = Colors::Harmonics { coefficients, values };
    let met = of(&scene, &Convention::gsplat());
    let gradient = FovClampGradient::Included;
    for (axis, high) in [(0, Side::Above), (1, Side::Below)] {
        assert!(met.contains(&(Decision::SlopeHigh(axis, gradient), high)), "axis {axis}");
        assert!(met.contains(&(Decision::SlopeLow(axis, gradient), Side::Above)), "axis {axis}");
    }
    for (channel, side) in [(0, Side::Above), (1, Side::Below), (2, Side::Above)] {
        assert!(met.contains(&(Decision::Color(channel), side)), "channel {channel}");
    }
}

#[test]
fn all_decisions_have_names_and_sides_of_their_own() {
    let names: BTreeSet<_> = Decision::all().iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), Decision::all().len(), "two decisions have one name");
    assert!(Decision::all().iter().all(|d| d.sides().len() > 1), "a decision with one side");
}
