use std::collections::BTreeSet;
use std::path::Path;

use splatcheck_reference::sparse::{Kernel, Site};
use splatcheck_workloads::splat::files::ply::{Invalid, read_ply};

use super::super::kernel_map::KernelMaps;
use super::super::sites::SUBMANIFOLD;
use super::super::tests::module;
use super::*;

/// Voxels of a trained scene's Gaussians in a box of so many a side, without the far points that every scene has.
fn voxels(file: &Path, side: f32) -> Vec<Site> {
    let gaussians = read_ply(file, Invalid::Refused).unwrap().gaussians;
    let axis = |a: usize| {
        let mut all: Vec<f32> = gaussians.means.iter().map(|mean| mean[a]).collect();
        all.sort_by(f32::total_cmp);
        [all[all.len() / 50], all[all.len() - 1 - all.len() / 50]]
    };
    let ends = [0, 1, 2].map(axis);
    let longest = ends.iter().map(|[low, high]| high - low).fold(0.0, f32::max);
    let mut sites = BTreeSet::new();
    for mean in &gaussians.means {
        let at = [0, 1, 2].map(|a| ((mean[a] - ends[a][0]) / longest * side).floor());
        if at.iter().all(|at| (0.0..side).contains(at)) {
            #[expect(clippy::cast_possible_truncation, reason = "a voxel of the box")]
            let [x, y, z] = at.map(|at| at as i32);
            sites.insert([0, x, y, z]);
        }
    }
    sites.into_iter().collect()
}

#[test]
fn maps_of_voxelized_trained_scenes_are_the_oracles() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    if !folder.is_dir() {
        println!("NOT EXERCISED: no {}", folder.display());
        return;
    }
    let module = module("kernel-map");
    let strided = Kernel { submanifold: false, stride: [2; 3], ..SUBMANIFOLD };
    for (scene, kernel, schedule) in [
        ("guitar-crop-5000", SUBMANIFOLD, Schedule::lockstep()),
        ("skull-crop-5000", strided, Schedule::adversarial(1)),
        ("playbot-crop-5000", SUBMANIFOLD, Schedule::adversarial(2)),
    ] {
        let coords = voxels(&folder.join(format!("{scene}.ply")), 32.0);
        let case = Case::new("a trained scene", kernel, coords, None);
        let mut device = Device::new(&module, &schedule);
        let found = KernelMaps::found(&mut device, &case).unwrap_or_else(|e| panic!("{}", e.words));
        let (sites, pairs) = (case.coords.len(), case.triples().len());
        println!("{scene}: {sites} sites, {pairs} pairs");
        assert!(sites > 500 && pairs > 2 * sites, "{scene}: {sites} sites, {pairs} pairs");
        assert_eq!(KernelMaps::difference(&case, &found), None, "{scene}");
    }
}
