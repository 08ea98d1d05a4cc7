use super::*;
use crate::stages::Stage;
use crate::stages::probe::{LOOPS, PROBE};
use naga::front::wgsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{AddressSpace, Module, StructMember, TypeInner};

fn parse(stage: &StageSpec, variant: Variant) -> Module {
    let source = stage.source(variant);
    wgsl::parse_str(&source)
        .unwrap_or_else(|e| panic!("{}: {}", stage.label(variant), e.emit_to_string(&source)))
}

/// Every row that is launched by its own name: the stages', the second launches' and the probes'.
fn rows() -> impl Iterator<Item = &'static StageSpec> {
    let second = |stage: Stage| stage.spec().extra_launches.iter().filter_map(|twice| twice.second);
    let probes: [&'static StageSpec; 2] = [&PROBE, &LOOPS];
    Stage::all().map(Stage::spec).chain(Stage::all().flat_map(second)).chain(probes)
}

/// Every kernel there is, for some of the sizes that kernels are compiled for.
fn kernels() -> Vec<(&'static StageSpec, Variant)> {
    let mut all = Vec::new();
    for stage in rows() {
        let mut reductions: Vec<_> = stage.reductions().map(Some).collect();
        if reductions.is_empty() {
            reductions.push(None);
        }
        for size in if stage.compiled_for.is_some() { &[1, 3, 32][..] } else { &[1] } {
            for &reduction in &reductions {
                for atomics in [FloatAtomics::Native, FloatAtomics::CompareExchange] {
                    let launched = stage.launched(reduction);
                    all.push((launched, Variant { size: *size, reduction, atomics }));
                }
            }
        }
    }
    all
}

#[test]
fn every_variant_of_every_kernel_is_valid() {
    for (stage, variant) in kernels() {
        let mut needs = Capabilities::SUBGROUP;
        if variant.atomics == FloatAtomics::Native {
            needs |= Capabilities::SHADER_FLOAT32_ATOMIC;
        }
        let label = stage.label(variant);
        let guarded = guard::guarded(&stage.source(variant), stage.bindings().len());
        let guarded =
            wgsl::parse_str(&guarded).unwrap_or_else(|e| panic!("{}", e.emit_to_string(&guarded)));
        for module in [parse(stage, variant), guarded] {
            let mut validator = Validator::new(ValidationFlags::all(), needs);
            let info = validator.validate(&module);
            assert!(info.is_ok(), "{label}: {:?}", info.err().map(|e| e.into_inner()));
        }
    }
}

#[test]
fn every_device_has_the_workgroup_memory() {
    // WebGPU, "Limits": the default of maxComputeWorkgroupStorageSize.
    let guaranteed = 16384;
    for (stage, variant) in kernels() {
        let module = parse(stage, variant);
        let used: u32 = module
            .global_variables
            .iter()
            .filter(|(_, v)| v.space == AddressSpace::WorkGroup)
            .map(|(_, v)| module.types[v.ty].inner.size(module.to_ctx()))
            .sum();
        let label = stage.label(variant);
        assert!(used <= guaranteed, "{label} uses {used} of {guaranteed} bytes");
    }
}

#[test]
fn entry_points_carry_the_names_of_their_texts() {
    for (stage, variant) in kernels() {
        let module = parse(stage, variant);
        let names: Vec<_> = module.entry_points.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, [stage.text.name], "one entry point, with the name of the text");
    }
}

/// A record of a stage's program: its size, and its members with their offsets.
fn record(stage: &StageSpec, name: &str) -> (usize, Vec<(String, usize)>) {
    let reduction = stage.reductions().next();
    let atomics = FloatAtomics::CompareExchange;
    let module = parse(stage, Variant { size: 1, reduction, atomics });
    let found = module.types.iter().find_map(|(_, ty)| match (&ty.name, &ty.inner) {
        (Some(found), TypeInner::Struct { members, span }) if found == name => {
            let member = |m: &StructMember| (m.name.clone().unwrap_or_default(), m.offset as usize);
            Some((*span as usize, members.iter().map(member).collect()))
        }
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{} declares {name}", stage.name))
}

#[test]
fn settings_lie_where_the_kernels_look() {
    for stage in rows().filter(|stage| !stage.params.is_empty()) {
        let (span, members) = record(stage, "Params");
        let mut at = 0;
        let mut ours = Vec::new();
        for param in stage.params {
            // Words that nobody reads need not be declared at the end of a record.
            let unread = matches!(param.value, crate::stage::Value::Unused(_));
            if !unread || members.iter().any(|(name, _)| name == param.name) {
                ours.push((param.name.to_owned(), at));
            }
            at += 4 * param.value.words();
        }
        assert_eq!(members, ours, "members and offsets of {}", stage.name);
        assert_eq!(span.next_multiple_of(16), at, "the size of {}'s record", stage.name);
    }
}

/// A buffer whose elements are a record holds the record's members one after another.
#[test]
fn rows_of_records_lie_where_the_kernels_look() {
    for stage in Stage::all() {
        for buffer in stage.wgsl.buffers.inputs.iter().filter(|b| b.ports.len() > 1) {
            if ["f32", "u32"].contains(&buffer.element) {
                continue;
            }
            let (span, members) = record(stage.spec(), buffer.element);
            assert_eq!(members.len(), buffer.ports.len(), "members of {}", buffer.element);
            let mut inputs = stage.inputs.iter();
            let mut at = 0;
            for ((_, offset), name) in members.iter().zip(buffer.ports) {
                let port = inputs.find(|port| port.name == *name).expect("in the table's order");
                assert_eq!(*offset, at, "{name} in {}", buffer.element);
                let row = port.shape.iter().map(|dim| match dim {
                    crate::stage::Dim::Const(side) => *side,
                    _ => 1,
                });
                at += 4 * row.product::<usize>();
            }
            assert_eq!(span, at, "the size of {}", buffer.element);
        }
    }
}
