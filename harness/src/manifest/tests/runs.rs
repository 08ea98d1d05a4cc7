//! Manifests whose kernels run without a case.

use super::*;

fn ran(manifest: &str) -> Result<(), String> {
    let manifest = Manifest::parse(manifest).map_err(|problem| problem.to_string())?;
    let kernel = ManifestKernel::new(manifest, ADD.to_owned()).map_err(|e| e.to_string())?;
    let mut engine = EmulatorEngine::open(EmulatorOptions::default()).expect("it opens");
    match engine.run_foreign(kernel.as_ref(), &Tensors::new()) {
        Ok(outputs) => {
            assert!(outputs.is_empty(), "nothing is judged without a case");
            Ok(())
        }
        Err(EngineError::NotLaunched(text) | EngineError::Device(text)) => Err(text),
        Err(other) => panic!("another error: {other}"),
    }
}

const RUN: &str = r#"
kernel = "add"
sizes = { N = 40 }
block = [32]
grid = ["ceil_div(N, 32)"]
parameter = [{ zeros = { dtype = "u32", shape = ["N"] } }, { u32 = "N" }]
"#;

#[test]
fn a_size_is_computed_of_others() {
    let text = RUN.replacen("N = 40", "N = \"4 * B + A\", A = \"B - 8\", B = 9", 1);
    let manifest = Manifest::parse(&text).expect("it is right");
    let names: Vec<_> = manifest.sizes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["B", "A", "N"], "each behind what it is computed of");
    let symbols = manifest.symbols(&Tensors::new()).expect("they have values");
    assert_eq!(symbols.integer("N"), Ok(37));
    assert_eq!(ran(&text), Ok(()), "an array and a grid of that size");
}

#[test]
fn a_kernel_runs_without_a_case() {
    assert_eq!(ran(RUN), Ok(()), "nothing is wrong with it");
    for (from, to, expected) in [
        ("zeros", "poison", "a value that was never written"),
        ("shape = [\"N\"]", "shape = [\"N - 1\"]", "out of bounds"),
        ("{ u32 = \"N\" }", "{ u32 = \"-N\" }", "-40 does not fit in u32"),
        ("{ u32 = \"N\" }", "{ u32 = \"W\" }", "'W' is not known here: there are N"),
        ("{ u32 = \"N\" }", "{ u32 = \"1 / (N - 40)\" }", "line 6, parameter 2: a division by 0"),
        ("block = [32]", "block = [0]", "0 threads a block"),
        (
            "grid = [",
            "grid = [1, 65536] #",
            "65536 blocks in y or z, but CUDA launches at most 65535",
        ),
        ("block = [32]", "block = [1, 1, 65]", "65 threads in z, but CUDA launches at most 64"),
        ("block = [32]", "block = [2048]", "2048 threads a block, expected 1..=1024"),
        (
            "block = [32]",
            "block = [\"N - 41\"]",
            "kernel of line 2, block: -1 does not fit in an unsigned",
        ),
        ("shape = [\"N\"]", "shape = [\"N * 200000000\"]", "does not fit in an unsigned 32-bit"),
        ("shape = [\"N\"]", "shape = [\"N\", 10000000]", "of 1600000000 bytes is larger than"),
        ("sizes", "dynamic_shared = \"N * 10000\"\nsizes", "400000 bytes of shared memory"),
        (
            "{ u32 = \"N\" }",
            "{ u64 = \"N\" }",
            "takes 2 parameters of 8, 4 bytes, the manifest gives 2 (1 array 8, 2 number 8): parameter 2 has 4 bytes, and number has 8",
        ),
        (
            "{ u32 = \"N\" }",
            "{ f32 = \"N\" }",
            "2 number 4): parameter 2 is a whole number in the program, and a float here",
        ),
        (", { u32 = \"N\" }", "", "parameter 2 is not described: add it"),
        ("N = 40", "N = \"M\", M = \"N + 1\"", "sizes.M is computed of itself: break the circle"),
        ("N = 40", "N = \"Q\"", "sizes.N is not known: 'Q'"),
        ("N = 40", "N = 1.5", "sizes.N is 1.5: expected a whole number"),
        ("N = 40", "N = \"40 / (W - W)\"", "manifest, sizes.N: 'W' is not known here"),
        ("N = 40", "N = \"1 / (Z - 1)\", Z = 1", "manifest, sizes.N: a division by 0"),
        (
            "{ u32 = \"N\" }",
            "{ u32 = \"N\" }, { null = true }",
            "there is no parameter 3: leave it out",
        ),
        (
            "kernel = \"add\"",
            "kernel = \"sub\"",
            "no entry point is named 'sub': there are add_one",
        ),
        ("shape = [\"N\"]", "shape = [\"M\"]", "'M' is not known here"),
    ] {
        let bad = RUN.replacen(from, to, 1);
        assert_ne!(bad, RUN, "nothing was changed: {from}");
        let error = ran(&bad).expect_err(to);
        assert!(error.contains(expected), "{to}:\n  {error}\n  no '{expected}'");
    }
    let twice =
        RUN.replace("kernel = \"add\"", "").replace("block", "[[launch]]\nkernel = \"add\"\nblock");
    assert_eq!(ran(&twice), Ok(()), "as a table");
}

/// Another kernel of the same program, which writes what the first one reads.
const FILL: &str = "\
.visible .entry fill(.param .u64 to)
{
.reg .b32 %r<2>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [to];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r1;
ret;
}
";

#[test]
fn launches_run_in_their_order_on_the_same_arrays() {
    let fill = "[[launch]]\nkernel = \"fill\"\nblock = [32]\ngrid = [1]\n\
                parameter = [{ buffer = \"x\" }]\n";
    let add = "[[launch]]\nkernel = \"add_one\"\nblock = [32]\ngrid = [1]\n\
               parameter = [{ buffer = \"x\" }, { u32 = 32 }]\n";
    let buffer = "[buffer.x]\npoison = { dtype = \"u32\", shape = [32] }\n";
    let run = |launches: &[&str]| {
        let manifest = Manifest::parse(&(launches.concat() + buffer)).expect("it is right");
        let kernel = ManifestKernel::new(manifest, format!("{ADD}{FILL}")).expect("it fits");
        let mut engine = EmulatorEngine::open(EmulatorOptions::default()).expect("it opens");
        engine.run_foreign(kernel.as_ref(), &Tensors::new()).map(drop)
    };
    assert_eq!(run(&[fill, add, add]), Ok(()), "written, then read");
    let error = run(&[add, fill]).expect_err("nothing is there yet").to_string();
    assert!(error.contains("'add_one'") && error.contains("never written"), "{error}");
}

proptest! {
    /// Whatever is cut out or put in: a manifest, or an error, and no panic.
    #[test]
    fn a_damaged_text_is_a_manifest_or_an_error(
        of_run in 0..4,
        (at, cut) in (any::<prop::sample::Index>(), 0_usize..12),
        put in "[a-z0-9_=\"{}\\[\\], .]{0,8}|.{0,4}",
    ) {
        let text = match of_run {
            0 => RUN,
            1 => GOOD,
            2 => PROJECT,
            _ => WGSL,
        };
        let start = at.index(text.len());
        let end = (start + cut).min(text.len());
        let damaged = format!("{}{put}{}", &text[..start], &text[end..]);
        if let Ok(manifest) = Manifest::parse(&damaged) {
            let _ = (manifest.not_judged(), manifest.not_of(Formulation::STANDARD));
            let _ = ManifestKernel::new(manifest, ADD.to_owned());
        }
        if let Ok(manifest) = Manifest::parse_wgsl(&damaged) {
            let _ = WgslKernel::new(manifest, "k.wgsl", "@compute @workgroup_size(1) fn k() {}");
        }
    }
}
