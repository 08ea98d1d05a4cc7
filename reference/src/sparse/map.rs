//! The kernel map by its definition: every offset of every input's site, one after the other.

use super::kernel::{Kernel, Refused};

/// A batch and three coordinates.
pub type Site = [i32; 4];

/// The most sites times offsets that a map is made of, which holds memory and time within bounds: 2.4 million sites
/// with 27 offsets.
const MAX_VISITS: u64 = 1 << 26;

/// The sites of the output, and the pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMap {
    /// `[M]`: of a submanifold convolution the input's, or those given, in their order; otherwise all that a pair
    /// reaches, in lexicographic order.
    pub out_coords: Vec<Site>,
    /// `[P]`: (k, i, o), sorted by (k, o). No two have the same k and o.
    pub pairs: Vec<[u32; 3]>,
}

/// The map of a kernel over distinct sites. `given` are the output's sites; `None` means all that a pair reaches.
///
/// All coordinates are integers of 32 bits and every step between is computed in 64: nothing wraps. A neighbour
/// beyond 32 bits is no site. An output's site beyond them is refused.
///
/// # Errors
/// [`Refused`]: a field of the kernel, a site that comes twice, an output's site that no i32 holds, or too many
/// sites.
pub fn kernel_map(
    kernel: &Kernel,
    coords: &[Site],
    given: Option<&[Site]>,
) -> Result<KernelMap, Refused> {
    kernel.check()?;
    expect_distinct("coords", coords)?;
    if kernel.submanifold && given.is_some() {
        let advice = "leave it out: with submanifold the output has the sites of coords";
        return Err(Refused::new("out_coords", "given", advice));
    }
    let visits = kernel.offsets().saturating_mul(coords.len() as u64);
    if visits > MAX_VISITS {
        let advice = format!("the oracle takes at most {MAX_VISITS}: make the case smaller");
        return Err(Refused::new("the number of sites times offsets", visits, advice));
    }
    let out_coords = match given {
        Some(given) => {
            expect_distinct("out_coords", given)?;
            given.to_vec()
        }
        None if kernel.submanifold => coords.to_vec(),
        None => reached(kernel, coords)?,
    };
    let rows = sorted(&out_coords);
    let row = |site: Site| {
        let at = rows.binary_search_by_key(&site, |&(site, _)| site).ok()?;
        Some(rows[at].1)
    };
    let mut pairs = Vec::new();
    for (k, number) in (0..kernel.offsets()).zip(0..) {
        let first = pairs.len();
        for (site, i) in coords.iter().zip(0..) {
            let output = output(kernel, k, site).and_then(|output| narrow(output).ok());
            if let Some(o) = output.and_then(row) {
                pairs.push([number, i, o]);
            }
        }
        pairs[first..].sort_unstable_by_key(|&[_, _, o]| o);
    }
    Ok(KernelMap { out_coords, pairs })
}

/// Sites in lexicographic order, each with its row.
fn sorted(sites: &[Site]) -> Vec<(Site, u32)> {
    let mut rows: Vec<(Site, u32)> = sites.iter().copied().zip(0..).collect();
    rows.sort_unstable();
    rows
}

/// That no site comes twice.
fn expect_distinct(field: &str, sites: &[Site]) -> Result<(), Refused> {
    let rows = sorted(sites);
    let again = rows.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let Some(pair) = again.min_by_key(|pair| pair[1].1) else { return Ok(()) };
    let [(site, first), (_, row)] = [pair[0], pair[1]];
    let advice = format!("row {first} is the same site: each comes once");
    Err(Refused::new(&format!("{field}[{row}]"), format!("{site:?}"), advice))
}

/// Where offset k takes an input's site: the solution of the equation, if it has one in whole numbers.
fn output(kernel: &Kernel, k: u64, site: &Site) -> Option<[i64; 4]> {
    let mut site = site.map(i64::from);
    if kernel.transposed {
        return Some(kernel.source(k, &site));
    }
    for (axis, shift) in kernel.shift(k).into_iter().enumerate() {
        let (from, stride) = (site[axis + 1] - shift, i64::from(kernel.stride[axis]));
        if from.rem_euclid(stride) != 0 {
            return None;
        }
        site[axis + 1] = from.div_euclid(stride);
    }
    Some(site)
}

/// The site, if 32 bits hold it, otherwise its axis.
fn narrow(site: [i64; 4]) -> Result<Site, usize> {
    let mut narrow = [0; 4];
    for (axis, (to, from)) in narrow.iter_mut().zip(site).enumerate() {
        *to = i32::try_from(from).map_err(|_| axis)?;
    }
    Ok(narrow)
}

/// All sites that a pair reaches, in lexicographic order.
fn reached(kernel: &Kernel, coords: &[Site]) -> Result<Vec<Site>, Refused> {
    let mut all = Vec::new();
    let tidy = |all: &mut Vec<Site>| {
        all.sort_unstable();
        all.dedup();
    };
    // Sites that come again are taken out as often as the list has doubled.
    let mut most = coords.len();
    for k in 0..kernel.offsets() {
        for (i, site) in coords.iter().enumerate() {
            let Some(output) = output(kernel, k, site) else { continue };
            all.push(narrow(output).map_err(|axis| {
                let advice = format!(
                    "by kernel offset {k} it reaches {} on axis {axis}, beyond an i32",
                    output[axis]
                );
                Refused::new(&format!("coords[{i}]"), format!("{site:?}"), advice)
            })?);
        }
        if all.len() >= 2 * most {
            tidy(&mut all);
            most = all.len();
        }
    }
    tidy(&mut all);
    Ok(all)
}
