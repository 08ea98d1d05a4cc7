//! `splatcheck oracle` of a case of sparse convolution.

use std::io::Write;

use super::super::exit::{CliError, Outcome};
use super::super::sharpness;
use super::options::{OraclePlan, ScalarName, only_of_splats, written};
use splatcheck_judge::table::table;
use splatcheck_judge::under;
use splatcheck_judge::words::count;
use splatcheck_reference::arithmetic::Model;
use splatcheck_reference::sparse::Products;
use splatcheck_workloads::sparse::case::Case;
use splatcheck_workloads::sparse::cost::{self, Gather, Grouping, Way};
use splatcheck_workloads::sparse::result_file::write_result;

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub(super) fn run(plan: &OraclePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    only_of_splats(plan, "sparse convolution")?;
    let case =
        Case::read(&plan.case).map_err(|error| CliError::caused("cannot read the case", error))?;
    let mut report = String::new();
    let result = match (plan.scalar, plan.bounds) {
        (ScalarName::F32, _) => {
            write_result(&plan.output, &case, case.layer().products::<f32>(), None)
        }
        (ScalarName::F64, model) => {
            let products = case.layer().products::<f64>();
            let radii = model.map(|model| under!(model.arithmetic(), radii(&case)));
            if let Some((model, radii)) = &radii {
                report = sharpness::text(model, &[], rows(&products, radii));
            }
            write_result(&plan.output, &case, products, radii)
        }
    };
    written(result)?;
    writeln!(
        out,
        "{}: {} to {} by {}, {}, {}",
        plan.output.display(),
        count(case.coords.len(), "site"),
        case.map.out_coords.len(),
        count(case.layer().offsets, "kernel offset"),
        count(case.map.pairs.len(), "pair"),
        plan.scalar,
    )?;
    write!(out, "{report}")?;
    if plan.cost {
        write!(out, "{}", costs(&case))?;
    }
    Ok(Outcome::Agree)
}

/// The radii under the model `M`, with its name.
fn radii<M: Model>(case: &Case) -> (&'static str, Products<f64>) {
    (M::TABLE.name, case.layer().radii::<M>())
}

fn rows(products: &Products<f64>, radii: &Products<f64>) -> Vec<Vec<String>> {
    [
        ("out", &products.out, &radii.out),
        ("v_feats", &products.v_feats, &radii.v_feats),
        ("v_weights", &products.v_weights, &radii.v_weights),
    ]
    .map(|(name, values, bounds)| sharpness::row(name, &[values], &[bounds]))
    .to_vec()
}

/// Padding that a group of products may have, in percent of its rows.
const PADDINGS: [u64; 4] = [0, 10, 25, 50];

/// What making the map, grouping products and gathering rows cost, as three tables.
fn costs(case: &Case) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
    let mean = |sum: u64, of: u64| format!("{:.2}", sum as f64 / of.max(1) as f64);
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let ways = cost::ways(case);
    let mut maps = vec![words(&["map by", "comparisons", "lines", "lines, of a warp"])];
    for (name, way) in
        [("search", ways.search), ("double traversal", ways.double), ("hash", ways.hash)]
    {
        let Way { comparisons, lines, lines_of_warps } = way;
        let means = [comparisons, lines, lines_of_warps].map(|sum| mean(sum, ways.queries));
        maps.push([&[name.to_owned()], &means[..]].concat());
    }
    let rows = cost::rows_of_offsets(case);
    let mut by_size = rows.clone();
    by_size.sort_unstable();
    let real: u64 = rows.iter().sum();
    let mut groups = vec![words(&["offsets", "padding allowed", "groups", "padding"])];
    for (name, rows) in [("as numbered", &rows), ("by size", &by_size)] {
        for percent in PADDINGS {
            let Grouping { groups: count, padding } = cost::grouped(rows, percent);
            let padded = format!("{} %", mean(100 * padding, real));
            groups.push(vec![name.to_owned(), format!("{percent} %"), count.to_string(), padded]);
        }
    }
    let mut tiles =
        vec![words(&["channels of a tile", "threads", "words of the map", "words of features"])];
    let mut tile = 1;
    while tile <= case.channels[0] {
        let Gather { threads, indices, features } = cost::gather(case, tile);
        let numbers = [tile as u64, threads, indices, features].map(|n| n.to_string());
        tiles.push(numbers.to_vec());
        tile *= 2;
    }
    format!(
        "\nmap, for each of {} queries (lines of 128 bytes)\n{}\nproducts of {} rows\n{}\ngather\n{}",
        ways.queries,
        table(&maps),
        real,
        table(&groups),
        table(&tiles)
    )
}
