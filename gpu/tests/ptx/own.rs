//! The kernels of users that tests run (`tests/kernels`) are what their source gives, and those of a
//! stage fit the interface as NVRTC compiles it.

use super::{NVRTC, NVRTC_VERSION, archive, pack, read, writes};
use crate::nvrtc::Nvrtc;
use crate::tools::{find, folder};
use splatcheck_gpu::emulator::{Interface, OwnKernel};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A source, what is added to its name, the macros that make this variant, and how it is compiled.
type Row = (&'static str, &'static str, &'static [&'static str], Compiled);

/// How a kernel is compiled.
#[derive(Clone, Copy)]
enum Compiled {
    /// For `compute_75`.
    Plain,
    /// With the lines of its source, so that a finding names the line of CUDA.
    Lines,
    /// With the headers of this project's kernels and of its users'.
    Headers,
    /// For `compute_80`, which has what the plain one has not.
    Features,
}

use Compiled::{Features, Headers, Lines, Plain};

const KERNELS: [Row; 66] = [
    ("own_backward", "", &[], Plain),
    ("own_backward", "_broken", &["BROKEN"], Plain),
    ("own_backward", "_racy", &["RACY"], Plain),
    ("own_backward", "_converged", &["CONVERGED"], Plain),
    ("own_backward", "_buffer", &["BUFFER"], Plain),
    ("own_backward", "_half", &["HALF"], Plain),
    ("own_backward", "_ticket", &["TICKET"], Plain),
    ("own_backward", "_overwrite", &["OVERWRITE"], Plain),
    ("gsplat_backward", "", &[], Lines),
    ("gsplat_backward", "_broken", &["BROKEN"], Lines),
    ("gsplat_backward", "_no_barrier", &["NO_BARRIER"], Lines),
    ("gsplat_backward", "_racy", &["RACY"], Lines),
    ("gsplat_backward", "_planar", &["PLANAR"], Lines),
    ("gsplat_backward", "_cameras", &["CAMERAS"], Lines),
    ("gsplat_backward", "_stuck", &["CAMERAS", "STUCK"], Lines),
    ("gsplat_rasterize", "", &[], Headers),
    ("gsplat_rasterize", "_broken", &["BROKEN"], Headers),
    ("gsplat_rasterize", "_cameras", &["CAMERAS"], Headers),
    ("gsplat_rasterize", "_half", &["HALF"], Headers),
    ("gsplat_rasterize", "_half_broken", &["HALF", "BROKEN"], Headers),
    ("gsplat_project", "", &[], Headers),
    ("gsplat_project", "_broken", &["BROKEN"], Headers),
    ("gsplat_project_image", "", &[], Headers),
    ("gsplat_project_image", "_broken", &["BROKEN"], Headers),
    ("gsplat_project_image", "_missing", &["MISSING"], Headers),
    ("gsplat_project_image", "_negated", &["NEGATED"], Headers),
    ("gsplat_project_image", "_doubled", &["DOUBLED"], Headers),
    ("gsplat_project_image", "_no_blur", &["NO_BLUR"], Headers),
    ("gsplat_project_image", "_unscaled", &["UNSCALED"], Headers),
    ("gsplat_project_image", "_by_row", &["BY_ROW"], Headers),
    ("gsplat_project_image", "_unlabelled", &["UNLABELLED"], Headers),
    ("gsplat_project_image", "_unshifted", &["UNSHIFTED"], Headers),
    ("camera_project", "", &[], Headers),
    ("camera_project", "_broken", &["BROKEN"], Headers),
    ("camera_project", "_late", &["LATE"], Headers),
    ("camera_project", "_tiles", &["TILES"], Headers),
    ("camera_project", "_pixels", &["TILES", "PIXELS"], Headers),
    ("camera_preprocess", "", &[], Headers),
    ("camera_preprocess", "_broken", &["BROKEN"], Headers),
    ("camera_preprocess", "_late", &["LATE"], Headers),
    ("camera_preprocess", "_ndc", &["NDC"], Headers),
    ("camera_preprocess", "_split", &["SPLIT"], Headers),
    ("camera_preprocess", "_split_broken", &["SPLIT", "BROKEN"], Headers),
    ("ngp_grid", "", &[], Headers),
    ("ngp_grid", "_broken", &["BROKEN"], Headers),
    ("ngp_grid", "_half", &["HALF"], Headers),
    ("ngp_grid", "_half_broken", &["HALF", "BROKEN"], Headers),
    ("production_backward", "", &[], Headers),
    ("production_backward", "_broken", &["BROKEN"], Headers),
    ("production_backward", "_signed", &["SIGNED"], Headers),
    ("production_backward", "_unclamped", &["UNCLAMPED"], Headers),
    ("half_backward", "", &[], Headers),
    ("half_backward", "_broken", &["BROKEN"], Headers),
    ("tcnn_grid", "", &[], Headers),
    ("tcnn_grid", "_broken", &["BROKEN"], Headers),
    ("index_add", "", &[], Headers),
    ("index_add", "_broken", &["BROKEN"], Headers),
    ("index_add", "_half", &["HALF"], Headers),
    ("index_add", "_half_broken", &["HALF", "BROKEN"], Headers),
    ("harmonics", "", &[], Headers),
    ("harmonics", "_broken", &["BROKEN"], Headers),
    ("array_types", "", &[], Headers),
    ("array_types", "_wide", &["WIDE"], Headers),
    ("array_types", "_warp", &["WARP"], Headers),
    ("array_types", "_slang", &["SLANG"], Headers),
    ("features", "", &[], Features),
];

/// What pages show and a reader opens lies in the tree as it is; all else in `ptx.tar.zst`.
const LOOSE: [&str; 6] = [
    "own_backward.ptx",
    "own_backward_racy.ptx",
    "gsplat_backward.ptx",
    "gsplat_backward_broken.ptx",
    "ngp_grid.ptx",
    "production_backward.ptx",
];

/// The kernels as they lie in the tree and in the archive.
fn present() -> BTreeMap<String, String> {
    let kernels = folder("tests/kernels");
    let packed = archive(&kernels.join("ptx.tar.zst"));
    let packed = packed.iter().map(|(name, text)| (name.to_owned(), text.to_owned()));
    packed.chain(LOOSE.map(|name| (name.to_owned(), read(&kernels.join(name))))).collect()
}

#[test]
fn the_kernels_of_users_derive() {
    let Some(library) = find(NVRTC) else { return };
    let (nvrtc, kernels) = (loaded(&library), folder("tests/kernels"));
    let derived = KERNELS.map(|(source, added, variant, how)| {
        let text = compiled(&kernels, &nvrtc, &format!("{source}.cu"), &options(how, variant));
        (format!("{source}{added}.ptx"), text)
    });
    if writes() {
        let (loose, packed): (Vec<_>, Vec<_>) =
            derived.iter().partition(|(name, _)| LOOSE.contains(&&**name));
        for (name, text) in loose {
            fs::write(kernels.join(name), text).expect("the folder is writable");
        }
        let texts = packed.into_iter().map(|(name, text)| (name.as_str(), text.as_str()));
        pack(&kernels.join("ptx.tar.zst"), texts);
    }
    let (derived, present) = (BTreeMap::from(derived), present());
    let listed = |all: &BTreeMap<String, String>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(listed(&derived), listed(&present), "SPLAT_PTX=write derives them");
    for (name, text) in &derived {
        assert_eq!(present[name], *text, "{name}: SPLAT_PTX=write derives it");
    }
}

/// Without a compiler too.
#[test]
fn own_kernels_fit_the_interface() {
    let own: Vec<_> =
        present().into_iter().filter(|(name, _)| name.starts_with("own_backward")).collect();
    assert_eq!(own.len(), 8, "every variant");
    for (name, text) in own {
        let kernel = OwnKernel::new(Interface::Standard, text, "own_backward".to_owned());
        assert!(kernel.is_ok(), "{name}: {kernel:?}");
    }
}

/// The kernels of `corpora/published`.
const PAGES: [&str; 5] = [
    "active_mask_count",
    "staging_overwritten",
    "reads_beyond",
    "halved_off_diagonal",
    "two_clamps",
];

/// What the pages of `corpora/published` show, as published and mended.
#[test]
fn the_kernels_of_the_pages_derive() {
    let Some(library) = find(NVRTC) else { return };
    let (nvrtc, pages) = (loaded(&library), folder("../corpora/published"));
    for name in PAGES {
        for (added, variant) in [("", &[][..]), ("_fixed", &["FIXED"])] {
            let ptx = compiled(&pages, &nvrtc, &format!("{name}.cu"), &options(Lines, variant));
            let file = pages.join(format!("{name}{added}.ptx"));
            if writes() {
                fs::write(&file, &ptx).expect("the folder is writable");
            }
            assert_eq!(read(&file), ptx, "{}: SPLAT_PTX=write derives it", file.display());
        }
    }
}

fn loaded(library: &Path) -> Nvrtc {
    let nvrtc = Nvrtc::load(library);
    assert_eq!(nvrtc.version(), NVRTC_VERSION, "the kernels were made by another NVRTC");
    nvrtc
}

fn options(how: Compiled, variant: &[&str]) -> Vec<String> {
    let mut options = match how {
        Plain => vec!["--gpu-architecture=compute_75".to_owned()],
        Lines => {
            ["--gpu-architecture=compute_75", "--generate-line-info"].map(str::to_owned).into()
        }
        Headers => {
            let path = |of: &str| format!("--include-path={}", folder(of).display());
            let headers = [path("kernels/cuda"), path("tests/kernels")];
            let options = ["--gpu-architecture=compute_75", "--std=c++17"].map(str::to_owned);
            [options, headers].concat()
        }
        Features => vec!["--gpu-architecture=compute_80".to_owned()],
    };
    options.extend(variant.iter().map(|name| format!("--define-macro={name}")));
    options
}

fn compiled(kernels: &Path, nvrtc: &Nvrtc, source: &str, options: &[String]) -> String {
    let ptx = nvrtc.compile(&read(&kernels.join(source)), source, options);
    // Line information names the folder that the compiler was started in.
    let here = std::env::current_dir().expect("there is a folder");
    ptx.replace(&format!("{}/", here.display()), "")
}
