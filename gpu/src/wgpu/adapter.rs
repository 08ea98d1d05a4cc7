//! Finding an adapter and opening it.

use wgpu::{
    Adapter, AdapterInfo, Backends, Features, Instance, InstanceDescriptor, InstanceFlags, Limits,
};

use super::device::Gpu;
use crate::adapter::{AdapterChoice, Options};
use crate::engine::{EngineError, FloatAtomics};
use crate::stages::Stage;
use crate::stages::probe::PROBE;

/// One adapter of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterSummary {
    /// The adapter's own name.
    pub name: String,
    /// Driver name and version, as the driver tells them.
    pub driver: String,
    /// Graphics interface ("vulkan", "metal", ...).
    pub backend: String,
    /// What kind of device it is ("Cpu", "Other", ...), in the words of [`wgpu::DeviceType`].
    pub device_type: String,
    /// How gradients would be added to memory.
    pub float_atomics: FloatAtomics,
    /// What the kernels need and the adapter lacks; empty if it can be opened.
    pub missing: Vec<String>,
}

/// An opened adapter, not yet measured.
pub(super) struct Opened {
    pub(super) gpu: Gpu,
    pub(super) info: AdapterInfo,
    pub(super) float_atomics: FloatAtomics,
}

/// The drivers chosen by the environment are opened even if they do not claim conformance: to
/// judge them is what this program is for.
fn adapters() -> Vec<Adapter> {
    let instance = Instance::new(InstanceDescriptor {
        backends: Backends::VULKAN | Backends::METAL | Backends::DX12,
        flags: InstanceFlags::ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER,
        ..InstanceDescriptor::new_without_display_handle()
    });
    pollster::block_on(instance.enumerate_adapters(Backends::all()))
}

/// Driver name and version in one line.
pub(super) fn driver(info: &AdapterInfo) -> String {
    [info.driver.as_str(), info.driver_info.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn float_atomics(features: Features, options: &Options) -> FloatAtomics {
    if features.contains(Features::SHADER_FLOAT32_ATOMIC) && !options.force_compare_exchange {
        FloatAtomics::Native
    } else {
        FloatAtomics::CompareExchange
    }
}

fn missing(adapter: &Adapter) -> Vec<String> {
    let mut lacks = Vec::new();
    if !adapter.features().contains(Features::SUBGROUP) {
        lacks.push("subgroup operations in compute shaders (wgpu feature SUBGROUP)".to_owned());
    }
    let limits = adapter.limits();
    let lanes = Stage::all().map(|stage| stage.launch.workgroup_size).max().unwrap_or(0);
    let record = Stage::all().map(|stage| 4 * stage.record_words()).max().unwrap_or(0);
    // What a single stage needs beyond the probe costs that stage alone: see `Engine::supports`.
    let needs = [
        (
            "max_storage_buffers_per_shader_stage",
            u64::from(limits.max_storage_buffers_per_shader_stage),
            PROBE.storage_buffers() as u64,
        ),
        // What WebGPU guarantees, within which every kernel keeps.
        (
            "max_compute_workgroup_storage_size",
            u64::from(limits.max_compute_workgroup_storage_size),
            u64::from(Limits::default().max_compute_workgroup_storage_size),
        ),
        (
            "max_compute_invocations_per_workgroup",
            u64::from(limits.max_compute_invocations_per_workgroup),
            u64::from(lanes),
        ),
        (
            "max_compute_workgroup_size_x",
            u64::from(limits.max_compute_workgroup_size_x),
            u64::from(lanes),
        ),
        ("max_uniform_buffer_binding_size", limits.max_uniform_buffer_binding_size, record as u64),
    ];
    for (name, has, needed) in needs {
        if has < needed {
            lacks.push(format!("{name} of {needed} (it has {has})"));
        }
    }
    lacks
}

fn summary(adapter: &Adapter) -> AdapterSummary {
    let info = adapter.get_info();
    AdapterSummary {
        driver: driver(&info),
        backend: info.backend.to_string(),
        device_type: format!("{:?}", info.device_type),
        float_atomics: float_atomics(adapter.features(), &Options::default()),
        missing: missing(adapter),
        name: info.name,
    }
}

pub(super) fn enumerate() -> Vec<AdapterSummary> {
    // A driver that panics inside wgpu while it is listed leaves an empty list.
    crate::engine::no_panic("wgpu", || Ok(adapters().iter().map(summary).collect())).unwrap_or_else(
        |e| {
            tracing::warn!("listing the adapters failed: {e}");
            Vec::new()
        },
    )
}

fn choose(choice: &AdapterChoice, found: &[AdapterSummary]) -> Result<usize, EngineError> {
    let place = match choice {
        AdapterChoice::First => {
            found.iter().position(|a| a.missing.is_empty()).or((!found.is_empty()).then_some(0))
        }
        AdapterChoice::Index(index) => (*index < found.len()).then_some(*index),
        AdapterChoice::Name(name) => {
            let name = name.to_lowercase();
            let fits = |text: &str| text.to_lowercase().contains(&name);
            found.iter().position(|a| fits(&a.name) || fits(&a.driver))
        }
    };
    place.ok_or_else(|| {
        let asked = match choice {
            AdapterChoice::First => "any".to_owned(),
            AdapterChoice::Index(index) => format!("number {index}"),
            AdapterChoice::Name(name) => format!("'{name}'"),
        };
        let listed: Vec<_> = found
            .iter()
            .enumerate()
            .map(|(i, a)| format!("{i}: {} ({})", a.name, a.driver))
            .collect();
        EngineError::NoDevice(if listed.is_empty() {
            "this process sees no adapter: no driver is installed, or it finds no device that it may use \
             (VK_DRIVER_FILES names the file of a Vulkan driver)"
                .to_owned()
        } else {
            format!("asked for {asked}, found {}", listed.join("; "))
        })
    })
}

pub(super) fn open(choice: &AdapterChoice, options: &Options) -> Result<Opened, EngineError> {
    let adapters = adapters();
    let found: Vec<_> = adapters.iter().map(summary).collect();
    let place = choose(choice, &found)?;
    let (adapter, summary) = (&adapters[place], &found[place]);
    if !summary.missing.is_empty() {
        return Err(EngineError::Missing {
            adapter: summary.name.clone(),
            what: summary.missing.join("; "),
        });
    }
    let float_atomics = float_atomics(adapter.features(), options);
    let mut features = Features::SUBGROUP;
    if float_atomics == FloatAtomics::Native {
        features |= Features::SHADER_FLOAT32_ATOMIC;
    }
    // The clock: what has none can do everything else.
    features |= adapter.features() & Features::TIMESTAMP_QUERY;
    let gpu = Gpu::open(adapter, features)?;
    Ok(Opened { gpu, info: adapter.get_info(), float_atomics })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, missing: &[&str]) -> AdapterSummary {
        AdapterSummary {
            name: name.to_owned(),
            driver: "driver 1.0".to_owned(),
            backend: "vulkan".to_owned(),
            device_type: "Cpu".to_owned(),
            float_atomics: FloatAtomics::Native,
            missing: missing.iter().map(|&m| m.to_owned()).collect(),
        }
    }

    #[test]
    fn choices_are_resolved_and_failures_list_what_there_is() {
        let found = [adapter("Old", &["subgroups"]), adapter("llvmpipe", &[])];
        let parse = |text: &str| text.parse::<AdapterChoice>().expect("any text is a choice");
        assert_eq!(choose(&parse(""), &found), Ok(1), "the first that lacks nothing");
        assert_eq!(choose(&parse("0"), &found), Ok(0), "a number is an index");
        assert_eq!(choose(&parse("LLVM"), &found), Ok(1), "case does not matter");
        assert_eq!(choose(&parse("driver"), &found), Ok(0), "the driver's name counts");
        for wrong in ["2", "nvidia"] {
            let message = choose(&parse(wrong), &found).expect_err("no such").to_string();
            assert!(message.contains("1: llvmpipe (driver 1.0)"), "unhelpful: {message}");
        }
        let message = choose(&AdapterChoice::First, &[]).expect_err("none").to_string();
        assert!(message.contains("VK_DRIVER_FILES"), "unhelpful: {message}");
    }
}
