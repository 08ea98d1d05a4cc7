use super::*;

/// Copies the number that lies 24 bytes into its structure to where the pointer at 8 points.
const COPY: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry copy(.param .align 8 .b8 all[40])
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [all+8];
    ld.param.f32 %f1, [all+24];
    st.global.f32 [%rd1], %f1;
    ret;
}
";

const FIELDS: &str =
    "{ struct = [{ u8 = 7 }, \"y\", { struct = [{ u32 = \"N\" }, { f64 = 0.5 }] }] }";

fn manifest(parameter: &str, ptx: &str) -> Manifest {
    let text = format!(
        "[sizes]\nN = 1\n[outputs.y]\nshape = [1]\n[forward]\n{ptx}kernel = \"copy\"\nblock = [1]\n\
         grid = [1]\nparameters = [{parameter}]\n"
    );
    Manifest::parse(&text).expect("it is right")
}

/// What one run of the kernel writes, its text under each of these names.
fn ran(manifest: &Manifest, files: &[&str]) -> Result<Vec<f32>, Stopped> {
    ran_of(manifest, files, COPY)
}

/// The same of another kernel.
fn ran_of(manifest: &Manifest, files: &[&str], text: &str) -> Result<Vec<f32>, Stopped> {
    let case = Case::drawn(manifest, (0, 0), &BTreeMap::new())?;
    let program = Program::new(files.iter().map(|file| (*file, text)), [])?;
    let mut arrays = Arrays::new(manifest, &program, &case)?;
    let how = (Shadowing::Values, &Schedule::lockstep());
    arrays.launch((&program, &case), &manifest.forward, how)?;
    arrays.floats("y", FloatType::F32).map_err(Stopped::Fault)
}

fn refused(parameter: &str, ptx: &str, files: &[&str]) -> String {
    match ran(&manifest(parameter, ptx), files) {
        Err(Stopped::Error(error)) => error.to_string(),
        other => panic!("{parameter}: {other:?}"),
    }
}

#[test]
fn fields_lie_as_in_c() {
    let case = Case::drawn(&manifest(FIELDS, ""), (0, 0), &BTreeMap::new()).expect("drawn");
    let manifest = manifest(FIELDS, "");
    let arrays =
        Arrays::new(&manifest, &Program::new([], []).expect("none"), &case).expect("an array");
    let (bytes, align) =
        arrays.bytes("here", &manifest.forward[0].parameters[0], &case).expect("it has bytes");
    let mut expected = vec![7, 0, 0, 0, 0, 0, 0, 0];
    expected.extend(arrays.buffers["y"].address().to_le_bytes());
    expected.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend(0.5_f64.to_le_bytes());
    assert_eq!((bytes, align), (expected, 8), "the inner structure begins at a multiple of 8");
    let small = "{ struct = [{ f32 = 1.0 }, { u8 = 1 }] }";
    let bytes = |parameter: &str| {
        let manifest = self::manifest(&format!("\"y\", {parameter}"), "");
        arrays.bytes("here", &manifest.forward[0].parameters[1], &case).expect("it has bytes")
    };
    assert_eq!(bytes(small), (vec![0, 0, 128, 63, 1, 0, 0, 0], 4), "the end is a multiple of 4");
}

#[test]
fn a_kernel_reads_its_structure() {
    let fields = "{ struct = [{ u32 = 0 }, \"y\", { null = true }, { f32 = 2.5 }, { u8 = 1 }, { i64 = 0 }] }";
    assert_eq!(ran(&manifest(fields, ""), &["one.ptx"]), Ok(vec![2.5]), "a number");
    let said = refused(FIELDS, "", &["one.ptx"]);
    assert!(said.contains("has parameters of [40] bytes, the manifest gives [32]"), "{said}");
    let said = refused("{ struct = [\"y\", { u8 = 256 }] }", "", &["one.ptx"]);
    assert!(said.contains("parameters is 256: expected a number that its type can hold"), "{said}");
}

#[test]
fn a_number_is_of_the_kind_that_the_program_declares() {
    const TYPED: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry copy(.param .u64 to, .param .f32 value, .param .u32 count, .param .b32 bits)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [to];
    ld.param.f32 %f1, [value];
    st.global.f32 [%rd1], %f1;
    ret;
}
";
    let of = |parameters: &str| ran_of(&manifest(parameters, ""), &["one.ptx"], TYPED);
    for bits in ["u32", "f32"] {
        let right = format!("\"y\", {{ f32 = 2 }}, {{ i32 = 3 }}, {{ {bits} = 1 }}");
        assert_eq!(of(&right), Ok(vec![2.0]), "what the program leaves open may be either: {bits}");
    }
    for (parameters, expected) in [
        (
            "\"y\", { u32 = 2 }, { i32 = 3 }, { u32 = 1 }",
            "parameter 2 is a float in the program, and a whole number in the manifest",
        ),
        (
            "\"y\", { f32 = 2 }, { f32 = 3 }, { u32 = 1 }",
            "parameter 3 is a whole number in the program, and a float in the manifest",
        ),
    ] {
        match of(parameters) {
            Err(Stopped::Error(error)) => {
                let said = error.to_string();
                assert!(said.contains(&format!("kernel 'copy': {expected}")), "{said}");
            }
            other => panic!("{parameters}: {other:?}"),
        }
    }
}

#[test]
fn a_launch_may_name_the_file_of_its_kernel() {
    let fields = "{ struct = [{ u32 = 0 }, \"y\", { null = true }, { f32 = 2.5 }, { i64 = 0 }] }";
    let two = ["folder/one.ptx", "two.ptx"];
    let one = manifest(fields, "ptx = \"one.ptx\"\n");
    assert_eq!(ran(&one, &two), Ok(vec![2.5]), "of two that are named copy");
    let said = refused(fields, "", &two);
    assert!(said.contains("copy"), "which of them: {said}");
    let said = refused(fields, "ptx = \"three.ptx\"\n", &two);
    let expected = "there is no file 'three.ptx', the files are folder/one.ptx, two.ptx";
    assert!(said.contains(expected), "{said}");
}
