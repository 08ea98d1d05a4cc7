//! Encodings of published programs, with the level tables that they make.

use super::plan::{Plan, at};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{Encoding, Grid, Growth, Interpolation, Profile};

/// d, F, `N_min`, b, L and T: small forms of tables in use, from dense to crowded.
const TABLES: [(usize, usize, u32, f32, u8, u32); 4] = [
    (3, 2, 3, 1.381_91, 4, 128),
    (2, 4, 4, 1.515_72, 4, 61),
    (3, 8, 4, 1.0, 2, 216),
    (1, 1, 5, 2.0, 3, 14),
];

/// Kinds of cases.
pub(super) const KINDS: u64 = (Profile::ALL.len() * TABLES.len()) as u64;

/// Points in and around the unit cube.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    let profiles = Profile::ALL.len() as u64;
    let profile = at(Profile::ALL, turn);
    let (d, features, coarsest, ratio, levels, most_entries) = at(&TABLES, turn / profiles + turn);
    let smooth = at(&[Interpolation::Linear, Interpolation::Smoothstep], turn / profiles);
    let encoding = Encoding { interpolation: smooth, ..profile.encoding() };
    let growth = Growth {
        coarsest,
        ratio,
        levels,
        most_entries,
        scale_rule: profile.scale_rule(),
        entries_rule: profile.entries_rule(),
    };
    let positions = (0..40 * d).map(|_| 0.5 + 0.6 * rng.value()).collect();
    let grown = Grid::grown(encoding, [d, features], &growth);
    let levels: Vec<_> = grown.iter().flat_map(Grid::levels).collect();
    let levels: Vec<_> =
        levels.iter().map(|level| (level.scale, level.resolution, level.entries)).collect();
    Plan::new(encoding, [d, features], &levels, positions)
}
