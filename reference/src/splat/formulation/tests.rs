use super::*;

#[test]
fn names_and_descriptions_are_read_back() {
    for named in NAMED {
        assert_eq!(named.name.parse(), Ok(named.formulation), "{}", named.name);
    }
    let mut seen: Vec<Formulation> = Vec::new();
    for formulation in Formulation::all() {
        let written = formulation.to_string();
        assert_eq!(written.parse(), Ok(formulation), "{written}");
        assert!(!seen.contains(&formulation), "{written} is listed twice");
        seen.push(formulation);
    }
    let read = 4 * 2 * 2 * 2;
    assert_eq!(seen.len(), read + 3, "remainder, final_t, divide, floor; three recompute");
    assert!(Formulation::practised().all(|f| seen.contains(&f)), "one that does not exist");
    assert!(NAMED.iter().all(|named| seen.contains(&named.formulation)), "one that does not exist");
}

#[test]
fn fields_are_read_in_any_order_and_the_usual_ones_left_out() {
    let gsplat = NAMED[1].formulation;
    for text in [
        "buffer, final_t = one-minus-alpha",
        "final_t=one-minus-alpha,remainder=buffer",
        "remainder=buffer,walk=back,final_t=one-minus-alpha,divide=reciprocal,floor_1_minus_alpha=none",
    ] {
        assert_eq!(text.parse(), Ok(gsplat), "{text}");
    }
    assert_eq!(gsplat.to_string(), "buffer, final_t = one-minus-alpha", "as reports say it");
    assert_eq!(Formulation::default(), NAMED[0].formulation, "our kernels are those of 3DGS");
}

#[test]
fn extra_roundings_go_with_a_formulation() {
    let gsplat = NAMED[1].formulation;
    let six = ExtraRoundings::new(6).expect("few enough");
    let rounded = gsplat.with_extra_roundings(six);
    let written = "buffer, final_t = one-minus-alpha, extra_roundings = 6";
    assert_eq!(rounded.to_string(), written, "as reports say it");
    assert_eq!(written.parse(), Ok(rounded), "as reproducers keep it");
    assert_ne!(rounded, gsplat, "it has bounds of its own");
    let names: Vec<_> = rounded.named().map(|named| named.name).collect();
    assert_eq!(names, ["gsplat-1.5"], "it is the project's expression");
    assert!(NAMED.iter().all(|named| named.formulation.extra_roundings().is_none()), "none stated");
}

#[test]
fn what_does_not_exist_is_refused_with_a_reason() {
    for (text, reason) in [
        ("gsplat", "unknown formulation 'gsplat': expected one of 3dgs, gsplat-1.5"),
        ("", "unknown formulation ''"),
        ("buffer,walk=front", "remainder = buffer is known on a walk from back to front only"),
        ("image,walk=back", "remainder = image is known on a walk from front to back only"),
        ("buffer,remainder=image", "the field remainder is written twice"),
        ("buffer,image", "the field remainder is written twice"),
        ("walk=up", "walk = 'up' does not exist: expected back or front"),
        ("final_t=0", "final_t = '0' does not exist"),
        ("divide=never", "divide = 'never' does not exist"),
        ("floor_1_minus_alpha=1", "floor_1_minus_alpha = '1' does not exist"),
        ("remainder=rest", "remainder = 'rest' does not exist"),
        ("bias=1", "unknown field 'bias'"),
        ("extra_roundings=-1", "extra roundings: '-1' is not a whole number from 0 to 64"),
        ("extra_roundings=65", "extra roundings: '65' is not a whole number from 0 to 64"),
    ] {
        let error = text.parse::<Formulation>().expect_err(text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}
