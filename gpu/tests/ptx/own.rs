//! The kernels of users that tests run (`tests/kernels`) are what their source gives, and those of a
//! stage fit the interface as NVRTC compiles it.

use super::{NVRTC, NVRTC_VERSION, read};
use crate::nvrtc::Nvrtc;
use crate::tools::{find, folder};
use splatcheck_gpu::emulator::{Interface, OwnKernel};
use std::fs;
use std::path::Path;

/// File names with the macro that makes each.
const VARIANTS: [(&str, Option<&str>); 8] = [
    ("own_backward.ptx", None),
    ("own_backward_broken.ptx", Some("BROKEN")),
    ("own_backward_racy.ptx", Some("RACY")),
    ("own_backward_converged.ptx", Some("CONVERGED")),
    ("own_backward_buffer.ptx", Some("BUFFER")),
    ("own_backward_half.ptx", Some("HALF")),
    ("own_backward_ticket.ptx", Some("TICKET")),
    ("own_backward_overwrite.ptx", Some("OVERWRITE")),
];

#[test]
fn own_kernels_derive_and_fit_the_interface() {
    let kernels = folder("tests/kernels");
    if let Some(library) = find(NVRTC) {
        derive(&library);
    }
    for (file, _) in VARIANTS {
        let text = read(&kernels.join(file));
        let kernel = OwnKernel::new(Interface::Standard, text, "own_backward".to_owned());
        assert!(kernel.is_ok(), "{file}: {kernel:?}");
    }
}

/// What `tests/manifest.rs` runs: the parameter list is another project's. With line information, so that
/// a finding names the line of CUDA.
#[test]
fn the_kernels_of_manifests_derive() {
    let Some(library) = find(NVRTC) else { return };
    let nvrtc = loaded(&library);
    for (file, variant) in [
        ("gsplat_backward.ptx", None),
        ("gsplat_backward_broken.ptx", Some("BROKEN")),
        ("gsplat_backward_no_barrier.ptx", Some("NO_BARRIER")),
        ("gsplat_backward_racy.ptx", Some("RACY")),
        ("gsplat_backward_planar.ptx", Some("PLANAR")),
    ] {
        derive_one(&nvrtc, "gsplat_backward.cu", file, &with_lines(variant));
    }
    let cameras = with_lines(Some("CAMERAS"));
    derive_one(&nvrtc, "gsplat_backward.cu", "gsplat_backward_cameras.ptx", &cameras);
    let stuck = [&cameras[..], &["--define-macro=STUCK".to_owned()]].concat();
    derive_one(&nvrtc, "gsplat_backward.cu", "gsplat_backward_stuck.ptx", &stuck);
}

/// What `tests/manifest_stages.rs` runs: kernels of the other stages with another project's parameter lists.
#[test]
fn the_kernels_of_other_stages_derive() {
    let Some(library) = find(NVRTC) else { return };
    let nvrtc = loaded(&library);
    let headers = format!("--include-path={}", folder("kernels/cuda").display());
    let options = ["--gpu-architecture=compute_75", "--std=c++17", &headers].map(str::to_owned);
    for name in [
        "gsplat_rasterize",
        "gsplat_project",
        "gsplat_project_image",
        "ngp_grid",
        "tcnn_grid",
        "index_add",
        "harmonics",
    ] {
        let source = format!("{name}.cu");
        derive_one(&nvrtc, &source, &format!("{name}.ptx"), &options);
        let broken = [&options[..], &["--define-macro=BROKEN".to_owned()]].concat();
        derive_one(&nvrtc, &source, &format!("{name}_broken.ptx"), &broken);
    }
    let cameras = [&options[..], &["--define-macro=CAMERAS".to_owned()]].concat();
    derive_one(&nvrtc, "gsplat_rasterize.cu", "gsplat_rasterize_cameras.ptx", &cameras);
}

/// What the pages of `corpora/published` show, as published and mended.
#[test]
fn the_kernels_of_the_pages_derive() {
    let Some(library) = find(NVRTC) else { return };
    let nvrtc = loaded(&library);
    let pages = folder("../corpora/published");
    for name in ["active_mask_count", "staging_overwritten", "reads_beyond"] {
        let source = format!("{name}.cu");
        for (file, variant) in
            [(format!("{name}.ptx"), None), (format!("{name}_fixed.ptx"), Some("FIXED"))]
        {
            derive_in(&pages, &nvrtc, &source, &file, &with_lines(variant));
        }
    }
}

/// What `tests/emulator/features.rs` runs.
#[test]
fn the_kernels_of_features_derive() {
    if let Some(library) = find(NVRTC) {
        let options = ["--gpu-architecture=compute_80".to_owned()];
        derive_one(&loaded(&library), "features.cu", "features.ptx", &options);
    }
}

fn loaded(library: &Path) -> Nvrtc {
    let nvrtc = Nvrtc::load(library);
    assert_eq!(nvrtc.version(), NVRTC_VERSION, "the kernels were made by another NVRTC");
    nvrtc
}

/// Compiles every variant anew.
fn derive(library: &Path) {
    let nvrtc = loaded(library);
    for (file, variant) in VARIANTS {
        let mut options = vec!["--gpu-architecture=compute_75".to_owned()];
        options.extend(variant.map(|name| format!("--define-macro={name}")));
        derive_one(&nvrtc, "own_backward.cu", file, &options);
    }
}

/// Options for a variant with line information.
fn with_lines(variant: Option<&str>) -> Vec<String> {
    let options = ["--gpu-architecture=compute_75", "--generate-line-info"];
    let mut options = options.map(str::to_owned).to_vec();
    options.extend(variant.map(|name| format!("--define-macro={name}")));
    options
}

fn derive_one(nvrtc: &Nvrtc, source: &str, file: &str, options: &[String]) {
    derive_in(&folder("tests/kernels"), nvrtc, source, file, options);
}

fn derive_in(kernels: &Path, nvrtc: &Nvrtc, source: &str, file: &str, options: &[String]) {
    let ptx = nvrtc.compile(&read(&kernels.join(source)), source, options);
    // Line information names the folder that the compiler was started in.
    let here = std::env::current_dir().expect("there is a folder");
    let ptx = ptx.replace(&format!("{}/", here.display()), "");
    if std::env::var("SPLAT_PTX").is_ok_and(|mode| mode == "write") {
        fs::write(kernels.join(file), &ptx).expect("the folder is writable");
    }
    assert_eq!(read(&kernels.join(file)), ptx, "{file}: SPLAT_PTX=write derives it");
}
