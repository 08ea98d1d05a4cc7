use super::*;

/// Another valid text for each key.
fn other(key: &str, profile: &Convention) -> &'static str {
    let inria = profile.profile == Profile::Inria;
    let pick =
        |other_of_inria, other_of_gsplat| if inria { other_of_inria } else { other_of_gsplat };
    match key {
        "stop_rule" => pick("less-or-equal", "less"),
        "near_rule" => pick("less", "less-or-equal"),
        "clamp_gradient" | "fov_clamp_gradient" => pick("exact", "inria"),
        "extent" => pick("per-axis(3.33)", "square(3.0, 0.1)"),
        "fov_clamp" => pick("about-principal-point(0.3)", "about-axis(1.3)"),
        "mean2d_units" => pick("pixels", "ndc"),
        "conic_off_diagonal" => pick("full", "half"),
        "antialiased" => "true",
        "tile_size" => "32x12",
        _ => "0x3e800000",
    }
}

/// `settings` lists every field of a convention, or it does not compile; here every one of them is
/// set by its key, alone, and found again.
#[test]
fn every_key_is_set_and_found_to_differ() {
    for profile in [Convention::inria(), Convention::gsplat()] {
        assert_eq!(differing(&profile), []);
        for key in KEYS {
            let text = other(key, &profile);
            let mut changed = profile;
            set(&mut changed, key, text).unwrap();
            let found = differing(&changed);
            assert_eq!(found.len(), 1, "{key}");
            assert_eq!(found[0].0, key);
            let mut again = profile;
            set(&mut again, found[0].0, &found[0].1.to_string()).unwrap();
            assert_eq!(again, changed, "{key}");
        }
    }
}

/// Every field of one convention can be written as a change of the other, rounded constants
/// included.
#[test]
fn one_convention_is_the_other_with_its_fields_changed() {
    let (inria, gsplat) = (Convention::inria(), Convention::gsplat());
    for (from, to) in [
        (inria, gsplat),
        (gsplat, inria),
        (inria, inria.rounded_to_f32()),
        (gsplat, gsplat.rounded_to_f32()),
    ] {
        let wanted = Convention { profile: from.profile, ..to };
        let mut found = from;
        for (key, setting) in differing(&wanted) {
            set(&mut found, key, &setting.to_string()).unwrap();
        }
        assert_eq!(found, wanted);
        check(&found).unwrap();
    }
}

/// Of the two gradients that are no derivatives each has its own key.
#[test]
fn the_gradients_of_the_two_clamps_are_set_apart() {
    let mut alpha = Convention::inria();
    set(&mut alpha, "clamp_gradient", "exact").unwrap();
    let wanted = Convention { alpha_clamp_gradient: ClampGradient::Zero, ..Convention::inria() };
    assert_eq!(alpha, wanted);
    let mut view = Convention::inria();
    set(&mut view, "fov_clamp_gradient", "exact").unwrap();
    let wanted =
        Convention { fov_clamp_gradient: FovClampGradient::Included, ..Convention::inria() };
    assert_eq!(view, wanted);
}

#[test]
fn texts_that_are_no_values_are_named() {
    let message = |key, text| set(&mut Convention::gsplat(), key, text).unwrap_err().to_string();
    assert_eq!(
        message("clamp_gradient", "no"),
        "clamp_gradient is 'no': expected inria, exact or clamped"
    );
    assert_eq!(message("antialiased", "1"), "antialiased is '1': expected false or true");
    assert_eq!(
        message("stop_rule", "<"),
        "stop_rule is '<': expected less, less-or-equal, less-after-blending or \
         less-or-equal-after-blending"
    );
    assert_eq!(message("mean2d_units", ""), "mean2d_units is '': expected ndc or pixels");
    for text in ["-1", "", "x", "16x", "8x8x8", "8.5", "5000000000"] {
        assert!(
            message("tile_size", text)
                .starts_with(&format!("tile_size is '{text}': expected a side"))
        );
    }
    for text in ["square", "square(3)", "square(3,0.1", "per-axis(x)", "per-axis(1, 2)", "round(1)"]
    {
        let expected = "expected square(SIGMAS, ROOT_FLOOR) or per-axis(MAX_SIGMAS)";
        assert_eq!(message("extent", text), format!("extent is '{text}': {expected}"));
    }
    assert!(message("fov_clamp", "about-axis()").starts_with("fov_clamp is 'about-axis()': "));
    assert!(message("near", "0x3").starts_with("near is '0x3': expected a decimal number"));
    assert!(message("nearest", "1").starts_with("the key is 'nearest': remove it;"));
    for instead in [None, Some(Profile::Inria)] {
        let unknown = profile("brush", instead).unwrap_err().to_string();
        assert_eq!(unknown, "convention is 'brush': expected inria or gsplat");
    }
}

#[test]
fn another_profile_takes_the_place_of_the_files() {
    assert_eq!(profile("inria", None), Ok(Convention::inria()));
    assert_eq!(profile("inria", Some(Profile::Gsplat)), Ok(Convention::gsplat()));
}

#[test]
fn ranges_are_checked() {
    for (key, text) in [
        ("alpha_max", "1.0"),
        ("alpha_max", "nan"),
        ("alpha_min", "0"),
        ("alpha_min", "0.995"),
        ("transmittance_min", "1"),
        ("pixel_center", "-0.5"),
        ("pixel_center", "nan"),
        ("eps2d", "-0.1"),
        ("eps2d", "inf"),
        ("near", "0"),
        ("far", "0.001"),
        ("far", "nan"),
        ("extent", "square(0, 0.1)"),
        ("extent", "square(3, -1)"),
        ("extent", "per-axis(inf)"),
        ("fov_clamp", "about-axis(0)"),
        ("fov_clamp", "about-principal-point(nan)"),
        ("w_eps", "-1"),
        ("inverse_eps", "inf"),
        ("tile_size", "0"),
        ("tile_size", "16x0"),
        ("tile_size", "33x32"),
        ("tile_size", "65536x65536"),
    ] {
        let mut convention = Convention::gsplat();
        set(&mut convention, key, text).unwrap();
        let message = check(&convention).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{key} is ")), "{message}");
    }
    check(&Convention::inria()).unwrap();
    check(&Convention::gsplat()).unwrap();
}
