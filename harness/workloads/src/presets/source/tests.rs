use super::*;

/// A declaration as projects write them, our own names.
const CUDA: &str = r#"
// __global__ void blend(int not_this);
#define TEXT "__global__ void blend(int \" nor_this)"
template <int N, typename T>
__global__ void __launch_bounds__(32 * 8, 1) blend(
    const uint32_t count,           // rows
    const vec3 *__restrict__ means, /* [N, 3],
                                       or none */
    pair<int, T> both,
    float (&sides)[2],
    int last = max(1, 2)
) {
    other(1);
}
__global__ void other(void);
"#;

fn source(kernel: &str, parameters: &[&str], sha256: &str) -> Source {
    Source {
        repository: "own/own".to_owned(),
        commit: None,
        release: Some("1".to_owned()),
        file: "a/kernel.cu".to_owned(),
        kernel: kernel.to_owned(),
        parameters: parameters.iter().map(|name| (*name).to_owned()).collect(),
        sha256: sha256.to_owned(),
        body: None,
    }
}

fn only(text: &str, language: Language, kernel: &str) -> Declaration {
    let mut all = declarations(text, language, kernel);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn a_parameter_list_is_its_words_without_comments_and_white_space() {
    let found = only(CUDA, Language::Cuda, "blend");
    let expected = [
        "const uint32_t count",
        "const vec3 * __restrict__ means",
        "pair < int , T > both",
        "float ( & sides ) [ 2 ]",
        "int last = max ( 1 , 2 )",
    ];
    assert_eq!(found.parameters, expected, "in order");
    assert_eq!(found.names, ["count", "means", "both", "sides", "last"], "the last words");
    let other = CUDA.replace("// rows", "// lines").replace("\n    ", "\n\n\t");
    assert_eq!(only(&other, Language::Cuda, "blend").sha256(), found.sha256(), "the same list");
    let other = CUDA.replace("const uint32_t count", "const int32_t count");
    assert_ne!(only(&other, Language::Cuda, "blend").sha256(), found.sha256(), "another type");
    assert_eq!(declarations(CUDA, Language::Cuda, "blen"), [], "no part of a name");
    assert_eq!(only(CUDA, Language::Cuda, "other").names, ["void"], "as it is written");
    let python = "def a(x): # def blend(y)\n  def blend(\n    one: wp.array(dtype=wp.int32),\n    two: int,\n  ):";
    assert_eq!(only(python, Language::Python, "blend").names, ["one", "two"], "the first words");
}

/// Bindings in either order of their attributes, and in both branches of a preprocessor.
const WGSL: &str = "
#import helpers;
// @group(0) @binding(9) var<storage, read> no: u32;
@group(0) @binding(0) var<storage, read> scale: helpers::Scale;
@binding(1) @group(0)
var<storage, read_write> sums: array<atomic<u32>>; /* of rows */
#ifdef FLOATS
    @group(0) @binding(2) var<storage, read> rows: array<f32>;
    fn other() {}
#else
    @group(0) @binding(2) var<storage, read> rows: array<u32>;
#endif
var<workgroup> shared_rows: array<f32, 64>;
@compute @workgroup_size(64)
fn add(@builtin(local_invocation_index) lane: u32) { let at: u32 = lane; }
";

#[test]
fn the_list_of_an_entry_point_of_wgsl_is_the_bindings_of_its_file() {
    let found = only(WGSL, Language::Wgsl, "add");
    let expected = [
        "@ group ( 0 ) @ binding ( 0 ) var < storage , read > scale : helpers : : Scale",
        "@ binding ( 1 ) @ group ( 0 ) var < storage , read_write > sums : array < atomic < u32 > >",
        "@ group ( 0 ) @ binding ( 2 ) var < storage , read > rows : array < f32 >",
        "@ group ( 0 ) @ binding ( 2 ) var < storage , read > rows : array < u32 >",
    ];
    assert_eq!(found.parameters, expected, "without the workgroup's variable");
    assert_eq!(found.names, ["scale", "sums", "rows", "rows"]);
    assert_eq!(declarations(WGSL, Language::Wgsl, "main"), [], "no such entry point");
    let other = WGSL.replace("binding(1)", "binding(3)");
    assert_ne!(only(&other, Language::Wgsl, "add").sha256(), found.sha256(), "another place");
    for end in 0..WGSL.len() {
        assert!(declarations(&WGSL[..end], Language::Wgsl, "add").len() <= 1, "torn at {end}");
    }
}

/// A text that ends anywhere is no reason to fail.
#[test]
fn a_torn_text_declares_nothing_or_less() {
    for end in (0..CUDA.len()).filter(|end| CUDA.is_char_boundary(*end)) {
        let all = declarations(&CUDA[..end], Language::Cuda, "blend");
        assert!(all.len() <= 1, "{end}: {all:?}");
    }
    for text in
        ["__global__ f)(", "__global__ (", "__global__ a(((", "\"é\\", "/*", "__global__ (a)(b)"]
    {
        assert_eq!(declarations(text, Language::Cuda, "f"), [], "{text}");
    }
}

#[test]
fn a_checkout_has_the_list_another_or_none() {
    let here = tempfile::tempdir().expect("a folder");
    let hash = only(CUDA, Language::Cuda, "blend").sha256();
    let right = source("blend", &["count", "means", "both", "sides", "last"], &hash);
    assert_eq!(right.look(here.path()).expect("looked"), Found::FileMissing);
    std::fs::create_dir(here.path().join("a")).expect("made");
    let write =
        |text: &str| std::fs::write(here.path().join("a/kernel.cu"), text).expect("written");
    write(CUDA);
    assert!(matches!(right.look(here.path()).expect("looked"), Found::Same(_)));
    let other = [&b"// caf\xe9\n"[..], CUDA.as_bytes()].concat();
    std::fs::write(here.path().join("a/kernel.cu"), other).expect("written");
    let found = right.look(here.path()).expect("looked");
    assert!(matches!(found, Found::Same(_)), "a comment in Latin-1: {found:?}");
    write("");
    assert_eq!(right.look(here.path()).expect("looked"), Found::KernelMissing);
    let differences = |text: &str| {
        write(text);
        match right.look(here.path()).expect("looked") {
            Found::Changed(now) => right.differences(&now).join("; "),
            other => panic!("{other:?}"),
        }
    };
    let said = differences(&CUDA.replace("const uint32_t count", "int count"));
    assert_eq!(said, "the names are the same: a type is another");
    let said =
        differences(&CUDA.replace("float (&sides)[2],\n    int last = max(1, 2)", "bool packed"));
    assert_eq!(said, "parameter 4 was sides, is 'bool packed'; parameter 5 was last, is gone");
    let said = differences(&CUDA.replace("max(1, 2)", "1, float *out"));
    assert_eq!(said, "parameter 6 is new: 'float * out'");
}

#[test]
fn a_body_is_its_words_without_comments_and_white_space() {
    let body = |text: &str, language| only(text, language, "blend").body().map(str::to_owned);
    let cuda = "__global__ void blend(int n) { float a = 0.999f; if (n) { a = 0; } // the most\n }\nint b;";
    let known = body(cuda, Language::Cuda);
    assert_eq!(body(&cuda.replace("// the most", "/* all */ \n"), Language::Cuda), known, "words");
    assert_eq!(body(&cuda.replace("int b", "int c"), Language::Cuda), known, "what is behind it");
    assert_ne!(body(&cuda.replace("0.999f", "0.99f"), Language::Cuda), known, "a constant");
    assert_eq!(body("__global__ void blend(int n);", Language::Cuda), None, "only declared");
    assert_eq!(body(&cuda[..60], Language::Cuda), None, "torn");
    let python = "class A:\n  def blend(\n    n: int,\n  ) -> None:\n    a = 0.999\n\n    if n: # one\n\
                  \x20     a = 0\n\n  def other():\n    b = 1\n";
    let known = body(python, Language::Python);
    assert!(known.is_some(), "it has one");
    assert_eq!(body(&python.replace("# one", "# two"), Language::Python), known, "words");
    assert_eq!(body(&python.replace("b = 1", "b = 2"), Language::Python), known, "another's");
    assert_ne!(
        body(&python.replace("a = 0\n", "a = 1\n"), Language::Python),
        known,
        "the last line"
    );
    let wgsl = WGSL.replace("fn add", "fn blend");
    let known = body(&wgsl, Language::Wgsl);
    assert!(known.is_some() && body(&wgsl.replace("= lane;", "= 0;"), Language::Wgsl) != known);
}
