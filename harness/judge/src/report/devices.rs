//! The engines of this machine as text, and why others are missing.

use crate::engines::{Discovery, Found, Missing};
use crate::table::table;
use splatcheck_gpu::FloatAtomics;

/// A table of the engines, then a line or two for each that is missing.
#[must_use]
pub fn describe(discovery: &Discovery) -> String {
    let mut text = if discovery.found.is_empty() {
        "No engine on this machine: no kernel can be exercised.\n".to_owned()
    } else {
        let head =
            ["engine", "adapter", "driver", "warp size", "float atomics", "exp(0)=1", "loop limit"];
        let head = head.iter().map(|&cell| cell.into()).collect();
        let rows: Vec<_> =
            std::iter::once(head).chain(discovery.found.iter().map(found_row)).collect();
        table(&rows)
    };
    if discovery.found.iter().any(|found| found.info.loop_limit.steps().is_some()) {
        text.push_str(LIMITED);
    }
    if !discovery.missing.is_empty() {
        text.push_str("\nNot available:\n");
        discovery.missing.iter().for_each(|missing| text.push_str(&missing_lines(missing)));
    }
    text
}

/// What a loop limit means for the verdicts of an engine that has one.
const LIMITED: &str = "\
loop limit: after so many loop steps of a subgroup the driver leaves a kernel's loops and says nothing.
  A right kernel that reaches it is not exercised there; one that need not, and so would never end,
  disagrees.
";

fn found_row(found: &Found) -> Vec<String> {
    let info = &found.info;
    let atomics = match info.float_atomics {
        FloatAtomics::Native => "native",
        FloatAtomics::CompareExchange => "compare-exchange",
    };
    let exp = if info.exp_of_zero_is_one { "yes" } else { "no" };
    vec![
        found.spec.id().to_owned(),
        info.adapter.clone(),
        info.driver.clone(),
        info.lane_width.to_string(),
        atomics.into(),
        exp.into(),
        info.loop_limit.to_string(),
    ]
}

fn missing_lines(missing: &Missing) -> String {
    let Missing { candidate, reason, advice, lost: _, promised: _ } = missing;
    let advice = advice.iter().map(|advice| format!("    {advice}\n"));
    format!("  {candidate}: {reason}\n{}", advice.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::EngineSpec;
    use splatcheck_gpu::{Arithmetic, DeviceInfo, EngineKind, LoopLimit};

    #[test]
    fn found_and_missing_are_both_shown() {
        let found = Found {
            spec: EngineSpec::new("lavapipe-8".parse().expect("an engine's id"), Vec::new()),
            info: DeviceInfo {
                adapter: "llvmpipe (256 bits)".into(),
                driver: "Mesa 22.3.6".into(),
                backend: "vulkan".into(),
                kind: EngineKind::Wgpu,
                arithmetic: Arithmetic::Wgsl,
                lane_width: 8,
                float_atomics: FloatAtomics::Native,
                exp_of_zero_is_one: true,
                loop_limit: LoopLimit::InAll(65_535),
            },
        };
        let missing = Missing {
            candidate: "swiftshader".into(),
            reason: "not installed".into(),
            advice: Some("run tests/setup".into()),
            lost: false,
            promised: false,
        };
        let text = describe(&Discovery { found: vec![found], missing: vec![missing] });
        let expected = "\
engine      adapter              driver       warp size  float atomics  exp(0)=1  loop limit
lavapipe-8  llvmpipe (256 bits)  Mesa 22.3.6  8          native         yes       65535 steps in all
loop limit: after so many loop steps of a subgroup the driver leaves a kernel's loops and says nothing.
  A right kernel that reaches it is not exercised there; one that need not, and so would never end,
  disagrees.

Not available:
  swiftshader: not installed
    run tests/setup
";
        assert_eq!(text, expected, "the table");
        let none = describe(&Discovery::default());
        assert!(none.starts_with("No engine on this machine"), "unhelpful: {none}");
    }
}
