//! Manifests that hold the same numbers of an output twice.

use super::*;
use splatcheck_workloads::layout::{Field, Layout, Meaning, Symbols};

/// Of two arrays of the same numbers the last would stand for both.
#[test]
fn two_arrays_of_the_same_numbers_are_refused() {
    let of = |stage: &str, parameters: &str| {
        let head = "kernel = \"k\"\nblock = [1]\ngrid = [1]\n";
        format!("stage = \"{stage}\"\n{head}parameter = [{parameters}]\n")
    };
    let tensors = |stage: &str, names: &[&str]| {
        let each = names.iter().map(|name| format!("{{ tensor = \"{name}\", role = \"write\" }}"));
        of(stage, &each.collect::<Vec<_>>().join(", "))
    };
    for (stage, names, words) in [
        (
            "project",
            ["radii", "visible"],
            "parameter 2 is visible beside radii: one of them is judged",
        ),
        ("project", ["visible", "radius"], "radius beside visible"),
        ("project", ["radii", "radius"], "radius beside radii"),
        ("rasterize", ["n_contrib", "last_ids"], "last_ids beside n_contrib"),
        ("rasterize_backward", ["v_opacities", "v_logits"], "v_logits beside v_opacities"),
        ("project_backward", ["v_sh", "v_colors_or_sh"], "v_colors_or_sh beside v_sh"),
        ("project_backward", ["v_colors_or_sh", "v_colors"], "v_colors beside v_colors_or_sh"),
        ("project_on_image", ["compensations", "opacities"], "opacities beside compensations"),
    ] {
        let said = refused(&tensors(stage, &names));
        assert!(said.contains(words), "{stage}: {said}");
        assert!(said.contains("give the other a buffer of its own"), "{stage}: {said}");
        let fields = format!("{{ fields = {names:?} }}");
        let said = refused(&of(stage, &fields));
        assert!(said.contains("one of them is judged"), "{stage}, side by side: {said}");
        let structure = format!("{{ struct = [{{ tensor = {:?} }}] }}", names[0]);
        let said = refused(&of(
            stage,
            &format!("{structure}, {{ tensor = {:?}, role = \"write\" }}", names[1]),
        ));
        assert!(said.contains("one of them is judged"), "{stage}, in a structure: {said}");
    }
    for (stage, names) in [
        ("rasterize_backward", &["v_means2d", "v_means2d_abs"][..]),
        ("rasterize", &["last_ids", "render_alphas"]),
        ("project_backward", &["v_sh", "v_colors"]),
        ("project_on_image", &["radii", "compensations"]),
        ("project_on_image_backward", &["v_sh", "v_colors"]),
    ] {
        Manifest::parse(&tensors(stage, names)).expect("they are apart");
    }
}

/// A case has direct colours or harmonics: the array of the other form says nothing.
#[test]
fn of_two_forms_of_colours_a_case_has_one() {
    let kind = KernelKind::ProjectBackward;
    let whole = |tensor| Array {
        kind,
        fields: vec![Field::Whole(tensor)],
        layout: Layout::Rows,
        meaning: Meaning::default(),
    };
    let (sh, colors) = (whole(Tensor::VSh), whole(Tensor::VColors));
    let symbols = |coefficients, channels| Symbols {
        gaussians: 2,
        cameras: 1,
        coefficients,
        channels,
        ..Symbols::default()
    };
    let words: Vec<u32> = (1..25).collect();
    let of = |held: &[(&Array, Vec<u32>)], symbols: &Symbols| {
        let all = values::outputs(kind, held, symbols, &Tensors::new()).expect("they fit");
        all.get("v_colors").expect("one of both").words().to_vec()
    };
    let held = [(&sh, words.clone()), (&colors, vec![0; 6])];
    assert_eq!(of(&held, &symbols(4, 3)), words, "harmonics, and zeros that nobody wrote");
    let held = [(&colors, words[..10].to_vec()), (&sh, Vec::new())];
    assert_eq!(of(&held, &symbols(0, 5)), words[..10], "direct colours");
    let forms = |outputs: &str| {
        let text = format!(
            "stage = \"project_backward\"\nkernel = \"k\"\nblock = [1]\ngrid = [1]\n\
             parameter = [{{ tensor = \"colors\" }}, {{ tensor = \"sh\" }}, {outputs}]\n"
        );
        Manifest::parse(&text).expect(outputs).color_forms()
    };
    assert_eq!(
        forms("{ tensor = \"v_colors\", role = \"write\" }, { tensor = \"v_sh\" }"),
        ColorForms::Both
    );
    assert_eq!(
        forms("{ tensor = \"v_colors\", role = \"write\" }"),
        ColorForms::Direct,
        "no harmonics come back"
    );
    assert_eq!(forms("{ tensor = \"v_sh\" }"), ColorForms::Harmonics, "no direct ones");
}
