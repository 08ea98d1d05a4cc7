//! How sharp bounds are, in words and a table.

use splatcheck_judge::table::table;
use splatcheck_reference::arithmetic::Scalar;
use splatcheck_reference::splat::bounds::Undecided;
use splatcheck_reference::splat::render::Gradients;
use splatcheck_workloads::splat::files::result_file::Radii;

/// The outputs by name, each as slices in order.
fn outputs<S: Copy>(gradients: &Gradients<S>) -> [(&'static str, Vec<&[S]>); 9] {
    let images = &gradients.rasters;
    [
        ("render_colors", images.iter().map(|r| r.render_colors.as_slice()).collect()),
        ("render_alphas", images.iter().map(|r| r.render_alphas.as_slice()).collect()),
        ("v_means", vec![gradients.v_means.as_flattened()]),
        ("v_quats", vec![gradients.v_quats.as_flattened()]),
        ("v_scales", vec![gradients.v_scales.as_flattened()]),
        ("v_opacities", vec![gradients.v_opacities.as_slice()]),
        ("v_colors/v_sh", vec![gradients.v_colors.as_slice()]),
        ("v_viewmats", vec![gradients.v_viewmats.as_flattened().as_flattened()]),
        ("v_backgrounds", vec![gradients.v_backgrounds.as_slice()]),
    ]
}

/// The number below which so many percent of the sorted numbers lie; `None` of none.
pub(super) fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    sorted.get(sorted.len().checked_sub(1)? * percent / 100).copied()
}

/// One row: elements, those without a finite bound, and bound over |value| of the others whose value
/// is not 0, of which there may be none.
pub(super) fn row<S: Scalar>(name: &str, values: &[&[S]], bounds: &[&[S]]) -> Vec<String> {
    let values = values.iter().copied().flatten().map(|x| x.value().abs());
    let bounds = bounds.iter().copied().flatten().map(|x| x.value());
    let (mut elements, mut infinite, mut ratios) = (0_u64, 0_u64, Vec::new());
    for (value, bound) in values.zip(bounds) {
        elements += 1;
        if bound == f64::INFINITY {
            infinite += 1;
        } else if value > 0.0 {
            ratios.push(bound / value);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let at = |percent| {
        percentile(&ratios, percent).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.1e}"))
    };
    vec![name.to_owned(), elements.to_string(), infinite.to_string(), at(50), at(99), at(100)]
}

/// What was undecided, by kind, and the distribution of bound over |value| of every output.
pub(super) fn report<S: Scalar>(
    radii: &Radii<S>,
    undecided: &Undecided,
    gradients: &Gradients<S>,
) -> String {
    let all = outputs(gradients).into_iter().zip(outputs(&radii.gradients));
    let rows = all.map(|((name, values), (_, bounds))| row(name, &values, &bounds)).collect();
    text(radii.model, &undecided.named(), rows)
}

/// The counts of undecided comparisons by kind, and the rows of [`row`] under their head.
pub(super) fn text(
    model: &str,
    undecided: &[(&'static str, u64)],
    mut rows: Vec<Vec<String>>,
) -> String {
    let kinds = undecided.iter().filter(|&&(_, count)| count > 0);
    let kinds: Vec<_> = kinds.map(|(kind, count)| format!("{kind} {count}")).collect();
    let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
    let head = ["output", "elements", "infinite", "median", "99 %", "max"].map(str::to_owned);
    rows.insert(0, head.to_vec());
    format!(
        "bounds under {model}, undecided comparisons: {kinds}\n{}\
         median, 99 %, max: bound / |value| over the elements with a finite bound and a value \
         other than 0\n",
        table(&rows)
    )
}
