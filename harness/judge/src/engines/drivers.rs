//! Which drivers this machine might have: the candidates that discovery tries.
//!
//! On Linux a Vulkan driver is known by its ICD file (JSON, with the path of the library), and the
//! loader is told to use one alone through `VK_DRIVER_FILES` (`VK_ICD_FILENAMES` before loader
//! 1.3.207). Elsewhere there is one candidate: what the system offers by default.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use splatcheck_gpu::DeviceInfo;

use super::emulation::Emulation;
use super::spec::{Driver, ENGINE, Identity};
use crate::io::{read, source_tree};

/// Folders of ICD files on Linux.
const FOLDERS: [&str; 4] = [
    "/usr/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/local/nvidia/share/vulkan/icd.d",
];
/// Where Debian's chromium-common puts SwiftShader.
const CHROMIUM: &str = "/usr/lib/chromium/vk_swiftshader_icd.json";
/// Where tests/setup puts it, below the target folder.
const UNPACKED: &str = "drivers/swiftshader/vk_swiftshader_icd.json";
/// `LP_NATIVE_VECTOR_WIDTH` in bits: lanes times 32.
const LAVAPIPE_BITS: [u32; 3] = [128, 256, 512];

/// Environment variable by which Mesa keeps no compiled shaders.
const NO_CACHE: &str = "MESA_SHADER_CACHE_DISABLE";

/// Environment variable that names a mutant, which a wgpu engine then runs: the path of its patch, and behind it the
/// mutant's name where the file has several.
pub const MUTANT: &str = "SPLATCHECK_MUTANT";

/// An engine that this machine might have but does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What was tried or looked for.
    pub candidate: String,
    /// Why it gave no engine.
    pub reason: String,
    /// What to do about it, where something can be done.
    pub advice: Option<String>,
    /// Whether it is there, was started, and died, hung or answered nonsense.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Whether the command promises it: an engine of a class that has none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub promised: bool,
}

impl Missing {
    /// What was looked for and not found.
    #[must_use]
    pub fn not_found(candidate: &str, reason: impl Into<String>, advice: Option<&str>) -> Self {
        let (candidate, advice) = (candidate.to_owned(), advice.map(str::to_owned));
        Self { candidate, reason: reason.into(), advice, lost: false, promised: false }
    }

    /// Whether it was asked for, so that without it something is not exercised: what the command promises,
    /// and what is there. A driver's file without a device, or CUDA on a machine that has none, was looked
    /// for and not found.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        self.lost || self.promised
    }
}

/// A driver with an environment that might give an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// For people: the file, and the warp size asked for.
    pub name: String,
    /// What it is expected to be. Warp size and adapter are known once it has answered, see
    /// [`Self::measured`].
    pub expected: Identity,
    /// Environment of its process.
    pub env: Vec<(String, OsString)>,
    /// Why it cannot work, if that is known without trying: its library is not there.
    pub broken: Option<String>,
}

impl Candidate {
    /// What an engine is that answered as this device: its name is after what was measured and not
    /// after what was asked for.
    #[must_use]
    pub fn measured(&self, info: &DeviceInfo) -> Identity {
        match &self.expected {
            Identity::Wgpu(Driver::Lavapipe { .. }) => {
                Identity::Wgpu(Driver::Lavapipe { lane_width: info.lane_width })
            }
            Identity::Wgpu(Driver::Other { .. }) => {
                Identity::Wgpu(Driver::Other { adapter: info.adapter.clone() })
            }
            same @ (Identity::Wgpu(Driver::SwiftShader)
            | Identity::Cuda { .. }
            | Identity::Emulator(_)) => same.clone(),
        }
    }
}

/// What the machine says about its drivers; separate from the machine so that it can be tested.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `VK_DRIVER_FILES`: only these.
    pub driver_files: Option<OsString>,
    /// Folders with ICD files, used without `driver_files`.
    pub folders: Vec<PathBuf>,
    /// `SPLATCHECK_SWIFTSHADER`: SwiftShader's ICD file.
    pub swiftshader: Option<PathBuf>,
    /// Places to look for it otherwise.
    pub swiftshader_places: Vec<PathBuf>,
    /// Where drivers may keep compiled shaders from one run to the next; nowhere, if not set.
    pub shader_cache: Option<PathBuf>,
}

impl Surroundings {
    /// This machine's.
    #[must_use]
    pub fn here() -> Self {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let own = env::current_exe().ok();
        let above = own.iter().flat_map(|own| own.ancestors().skip(2).take(2));
        Self {
            driver_files: set("VK_DRIVER_FILES").or_else(|| set("VK_ICD_FILENAMES")),
            folders: FOLDERS.iter().map(PathBuf::from).collect(),
            swiftshader: set("SPLATCHECK_SWIFTSHADER").map(PathBuf::from),
            swiftshader_places: above
                .map(|folder| folder.join(UNPACKED))
                .chain([PathBuf::from(CHROMIUM)])
                .collect(),
            shader_cache: Self::shader_cache(set),
        }
    }

    /// The user's folder for what can be made again, unless Mesa is told to keep nothing.
    fn shader_cache(set: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let kept_off = set(NO_CACHE).is_some_and(|value| value != "false" && value != "0");
        let home = || Some(PathBuf::from(set("HOME")?).join(".cache"));
        let folder = set("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
        (!kept_off).then(|| folder.join("splatcheck/shaders"))
    }

    /// Everything worth trying, and what is known to be missing.
    #[must_use]
    pub fn candidates(&self) -> (Vec<Candidate>, Vec<Missing>) {
        let mut missing = Vec::new();
        let mut files: Vec<PathBuf> = Vec::new();
        let mut add = |path: PathBuf| {
            let path = path.canonicalize().unwrap_or(path);
            if !files.contains(&path) {
                files.push(path);
            }
        };
        if let Some(given) = &self.driver_files {
            env::split_paths(given).flat_map(|path| icd_files(&path)).for_each(&mut add);
        } else {
            self.folders.iter().flat_map(|folder| icd_files(folder)).for_each(&mut add);
            let found = self.swiftshader_places.iter().find(|path| path.is_file());
            if let Some(path) = self.swiftshader.as_ref().or(found) {
                add(path.clone());
            }
            missing = absent(&files);
        }
        let cache = self.shader_cache.as_deref();
        (files.iter().flat_map(|path| candidates_of(path, cache)).collect(), missing)
    }
}

/// The candidate of a system without ICD files.
#[must_use]
pub fn default_candidate() -> Candidate {
    let name = "this system's default device";
    Candidate {
        name: name.into(),
        expected: Identity::Wgpu(Driver::Other { adapter: name.into() }),
        env: Vec::new(),
        broken: None,
    }
}

/// What a build without wgpu says of all drivers that it would try.
#[must_use]
pub fn without_wgpu() -> Missing {
    Missing::not_found(
        "drivers of Vulkan, Metal and Direct3D 12",
        "this build of splatcheck is without wgpu",
        Some("build it with the feature wgpu, as the program has it by default"),
    )
}

/// The engines over NVIDIA's CUDA driver. Whether there is one is found out by trying, since a child
/// does that at no risk; `CUDA_VISIBLE_DEVICES` chooses the device.
#[must_use]
pub fn cuda_candidates() -> [Candidate; 2] {
    [false, true].map(|fast_math| asked_for(Identity::Cuda { fast_math }))
}

/// The kernels on the emulator, those in CUDA as compiled in two ways and those in WGSL with subgroups of every
/// size: there on every machine.
#[must_use]
pub fn emulator_candidates() -> Vec<Candidate> {
    let cuda = [false, true].map(|fast_math| Emulation { fast_math, ..Emulation::default() });
    let wgsl = Emulation::WGSL_LANES
        .map(|lanes| Emulation { wgsl_lanes: Some(lanes), ..Emulation::default() });
    cuda.into_iter().chain(wgsl).map(|one| asked_for(Identity::Emulator(one))).collect()
}

/// A candidate that opens by its id.
fn asked_for(identity: Identity) -> Candidate {
    let name = identity.to_string();
    let env = vec![(ENGINE.into(), name.clone().into())];
    Candidate { name, expected: identity, env, broken: None }
}

/// The software drivers that every Linux machine can have, as `tests/setup` calls them, and how else one gets them.
const SET_UP: [(Family, &str, &str); 2] = [
    (
        Family::Lavapipe,
        "lavapipe",
        "install the Debian packages mesa-vulkan-drivers and libvulkan1",
    ),
    (
        Family::SwiftShader,
        "swiftshader",
        "install the Debian package chromium-common, or set SPLATCHECK_SWIFTSHADER to the path of its \
         vk_swiftshader_icd.json",
    ),
];

/// What installs them, in a source tree.
const SETUP: &str = "tests/setup";

/// Whether it is a driver that `tests/setup` installs.
pub(super) fn is_set_up(missing: &Missing) -> bool {
    SET_UP.iter().any(|(_, name, _)| missing.candidate == *name)
}

/// Those of which no file was found.
fn absent(files: &[PathBuf]) -> Vec<Missing> {
    SET_UP
        .into_iter()
        .filter(|(family, ..)| !files.iter().any(|path| family_of(path) == *family))
        .map(|(_, name, advice)| {
            let set_up = if source_tree::has(SETUP) { "run tests/setup, or " } else { "" };
            Missing::not_found(name, "not installed", Some(&format!("{set_up}{advice}")))
        })
        .collect()
}

/// The ICD files in a folder, sorted; a path that is no folder stands for itself.
fn icd_files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else {
        return if path.is_dir() || FOLDERS.iter().any(|known| Path::new(known) == path) {
            Vec::new()
        } else {
            vec![path.to_owned()]
        };
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension() == Some(OsStr::new("json")))
        .collect();
    files.sort();
    files
}

/// Which driver a file belongs to, as far as the harness treats it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Lavapipe,
    SwiftShader,
    Other,
}

fn family_of(path: &Path) -> Family {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("lvp_icd") {
        Family::Lavapipe
    } else if name.contains("swiftshader") {
        Family::SwiftShader
    } else {
        Family::Other
    }
}

fn candidates_of(path: &Path, cache: Option<&Path>) -> Vec<Candidate> {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let broken = library(path).err();
    let env = |extra: &[(&str, OsString)]| {
        let driver = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
            .map(|name| (name.to_owned(), path.as_os_str().to_owned()));
        let extra = extra.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        driver.into_iter().chain(extra).collect()
    };
    let alone = |driver: Driver| Candidate {
        name: file.clone(),
        expected: Identity::Wgpu(driver),
        env: env(&[]),
        broken: broken.clone(),
    };
    let with_width = |bits: u32| Candidate {
        name: format!("{file} with LP_NATIVE_VECTOR_WIDTH={bits}"),
        expected: Identity::Wgpu(Driver::Lavapipe { lane_width: bits / 32 }),
        env: env(&[
            ("LP_NATIVE_VECTOR_WIDTH", bits.to_string().into()),
            cache_variable(cache, bits),
        ]),
        broken: broken.clone(),
    };
    match family_of(path) {
        Family::Lavapipe => LAVAPIPE_BITS.into_iter().map(with_width).collect(),
        Family::SwiftShader => vec![alone(Driver::SwiftShader)],
        Family::Other => vec![alone(Driver::Other { adapter: file.clone() })],
    }
}

/// The environment variable that says where lavapipe keeps the shaders that it compiled for vectors of
/// so many bits. Mesa's keys are not known to tell one warp size from another, so each has a folder.
fn cache_variable(cache: Option<&Path>, bits: u32) -> (&'static str, OsString) {
    let folder = cache.map(|cache| cache.join(format!("lavapipe-{}", bits / 32)));
    // Mesa makes no more than the last folder of the path.
    match folder.filter(|folder| fs::create_dir_all(folder).is_ok()) {
        Some(folder) => ("MESA_SHADER_CACHE_DIR", folder.into()),
        None => (NO_CACHE, "true".into()),
    }
}

/// Checks that the library an ICD file names is there, where that can be told; else why the file leads to no driver.
fn library(path: &Path) -> Result<(), String> {
    let text = read::text(path).map_err(|error| error.to_string())?;
    let json: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| format!("{} is not JSON: {error}", path.display()))?;
    let library = json["ICD"]["library_path"].as_str();
    let library = library.ok_or_else(|| format!("{} has no ICD.library_path", path.display()))?;
    // A bare name is looked up by the loader, anything else is relative to the file.
    if !library.contains('/') {
        return Ok(());
    }
    let library = path.parent().unwrap_or(Path::new("")).join(library);
    match library.is_file() {
        true => Ok(()),
        false => Err(format!("the library {} is missing", library.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn icd(folder: &Path, name: &str, library: &str) -> PathBuf {
        let path = folder.join(name);
        let text = format!("{{\"ICD\": {{\"library_path\": \"{library}\"}}}}");
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn lavapipe_gives_three_candidates_and_swiftshader_one() {
        let folder = tempfile::tempdir().unwrap();
        icd(folder.path(), "lvp_icd.x86_64.json", "libvulkan_lvp.so");
        icd(folder.path(), "radeon_icd.json", "./nowhere.so");
        fs::write(folder.path().join("notes.txt"), "no driver").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let swiftshader = icd(elsewhere.path(), "vk_swiftshader_icd.json", "libvk.so");
        let here = Surroundings {
            folders: vec![folder.path().to_owned(), folder.path().to_owned()],
            swiftshader_places: vec!["/nowhere".into(), swiftshader],
            ..Surroundings::default()
        };
        let (candidates, missing) = here.candidates();
        assert!(missing.is_empty(), "both are there: {missing:?}");
        let expected: Vec<_> = candidates.iter().map(|c| c.expected.to_string()).collect();
        let names =
            ["lavapipe-4", "lavapipe-8", "lavapipe-16", "wgpu:radeon_icd.json", "swiftshader"];
        assert_eq!(expected, names, "{candidates:?}");
        for (candidate, bits) in candidates.iter().zip(["128", "256", "512"]) {
            let width = ("LP_NATIVE_VECTOR_WIDTH".to_owned(), bits.into());
            assert!(candidate.env.contains(&width), "{candidate:?}");
        }
        let broken = candidates[3].broken.as_deref().expect("its library is missing");
        assert!(broken.contains("nowhere.so is missing"), "unhelpful: {broken}");
    }

    #[test]
    fn compiled_shaders_are_kept_apart_by_lane_width_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = icd(folder.path(), "lvp_icd.x86_64.json", "libvulkan_lvp.so");
        let cache = folder.path().join("cache/splatcheck");
        let variable = |candidate: &Candidate, name: &str| {
            candidate.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
        };
        let kept = candidates_of(&file, Some(&cache));
        let folders: Vec<_> =
            kept.iter().filter_map(|c| variable(c, "MESA_SHADER_CACHE_DIR")).collect();
        let expected = [4, 8, 16].map(|lanes| cache.join(format!("lavapipe-{lanes}")));
        assert_eq!(folders, expected, "a folder for each warp size");
        assert!(expected.iter().all(|folder| folder.is_dir()), "Mesa would not make them");
        let blocked = folder.path().join("lvp_icd.x86_64.json");
        for nowhere in [None, Some(blocked.as_path())] {
            for candidate in candidates_of(&file, nowhere) {
                assert_eq!(variable(&candidate, NO_CACHE), Some("true".into()), "{nowhere:?}");
            }
        }
    }

    #[test]
    fn a_person_may_have_nothing_kept() {
        let with = |variables: &'static [(&str, &str)]| {
            Surroundings::shader_cache(|name| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
            })
        };
        assert_eq!(
            with(&[("HOME", "/home/ada")]),
            Some("/home/ada/.cache/splatcheck/shaders".into()),
            "home"
        );
        assert_eq!(
            with(&[("HOME", "/home/ada"), ("XDG_CACHE_HOME", "/c")]),
            Some("/c/splatcheck/shaders".into()),
            "XDG"
        );
        assert_eq!(with(&[("HOME", "/home/ada"), (NO_CACHE, "true")]), None, "disabled");
        assert_eq!(with(&[]), None, "a machine without a home");
    }

    #[test]
    fn what_is_absent_comes_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let here =
            Surroundings { folders: vec![folder.path().to_owned()], ..Surroundings::default() };
        let (candidates, missing) = here.candidates();
        assert!(candidates.is_empty(), "an empty folder: {candidates:?}");
        let names: Vec<_> = missing.iter().map(|m| m.candidate.as_str()).collect();
        assert_eq!(names, ["lavapipe", "swiftshader"], "both are absent");
        for entry in &missing {
            let advice = entry.advice.as_deref().expect("advice");
            assert!(advice.starts_with("run tests/setup, or install"), "in the tree: {advice}");
        }
    }

    #[test]
    fn driver_files_given_by_a_person_stand_alone() {
        let folder = tempfile::tempdir().unwrap();
        let lavapipe = icd(folder.path(), "lvp_icd.json", "libvulkan_lvp.so");
        let gone = folder.path().join("gone_icd.json");
        let here = Surroundings {
            driver_files: Some(env::join_paths([&lavapipe, &gone]).unwrap()),
            swiftshader: Some("/somewhere/vk_swiftshader_icd.json".into()),
            ..Surroundings::default()
        };
        let (candidates, missing) = here.candidates();
        assert!(missing.is_empty(), "nothing else was asked for: {missing:?}");
        assert_eq!(candidates.len(), 4, "three warp sizes and the file that is gone");
        let broken = candidates[3].broken.as_deref().expect("it is gone");
        assert!(broken.contains("cannot read") && broken.contains("gone_icd.json"), "{broken}");
    }
}
