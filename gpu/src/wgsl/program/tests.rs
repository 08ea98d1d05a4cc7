use super::*;

const SOURCE: &str = "
struct Params { size: vec2<u32>, alpha_max: f32, background: array<vec4<f32>, 2>, last: u32 }
struct Splat { xy: vec2f, color: vec3f }
@group(0) @binding(2) var<storage, read_write> sums: array<atomic<u32>>;
@group(0) @binding(0) var<uniform> params: Params;
@group(1) @binding(0) var<storage, read> splats: array<Splat>;
@group(0) @binding(9) var<storage, read> unused: array<f32>;
@id(3) override STEP: u32;
override SCALE: f32 = 1.0;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let color = splats[id.x].color * SCALE * params.alpha_max;
    atomicAdd(&sums[id.x * STEP], bitcast<u32>(color.x));
}
@compute @workgroup_size(1) fn other() { atomicStore(&sums[0], params.last); }
";

#[test]
fn an_entry_point_has_the_buffers_that_it_uses_with_their_words() {
    let program = Program::parse("k.wgsl", SOURCE).expect("it is WGSL");
    let entry = program.entry("main").expect("it is there");
    let names: Vec<_> = entry.variables.iter().map(|v| (v.name.as_str(), v.access)).collect();
    let expected = [("params", Use::Uniform), ("sums", Use::ReadWrite), ("splats", Use::Read)];
    assert_eq!(names, expected, "in the order of group and binding, without what is not used");
    let [params, sums, splats] = &entry.variables[..] else { panic!("three") };
    use Word::{F32, Padding, U32};
    let mut words = vec![U32, U32, F32, Padding];
    words.extend([F32; 8]);
    words.extend([U32, Padding, Padding, Padding]);
    assert_eq!(params.layout.fixed(), Some(words), "as WGSL aligns them");
    assert_eq!(params.layout.least_bytes, 64, "a multiple of 16");
    let array = sums.layout.array.as_ref().expect("an array");
    assert_eq!((&array.element[..], array.count), (&[U32][..], None), "atomics are numbers");
    let array = splats.layout.array.as_ref().expect("an array");
    let row = [F32, F32, Padding, Padding, F32, F32, F32, Padding];
    assert_eq!((&array.element[..], splats.layout.fixed()), (&row[..], None), "vec3 aligns to 16");
    let overrides: Vec<_> =
        program.overrides.iter().map(|one| (one.key.as_str(), one.has_default)).collect();
    assert_eq!(overrides, [("3", false), ("SCALE", true)], "by id, else by name");
    let other = program.entry("other").expect("it is there");
    assert_eq!(other.variables.len(), 2, "its own");
    assert_eq!((&*entry.needs, &*other.needs), (&["STEP".to_owned()][..], &[][..]), "its own too");
}

#[test]
fn what_is_no_program_says_where() {
    let text = |source: &str| Program::parse("k.wgsl", source).expect_err("refused").to_string();
    let syntax = text("fn a() {}\nfn b( {}\n");
    assert!(syntax.starts_with("line 2: expected"), "{syntax}");
    let types = text("\n\nfn a() -> f32 {\n  return 1u;\n}");
    assert!(types.contains("line"), "{types}");
    let written = "@group(0) @binding(0) var<storage, read> x: array<u32>;\n\
                   @compute @workgroup_size(1) fn a() {\n  x[0] = 1u;\n}";
    let written = text(written);
    assert!(written.starts_with("line 3: "), "a buffer that may only be read: {written}");
}

/// An entry point has what it reaches, and nothing else: a texture of another entry point, or of a function
/// that only the other calls, is not its own.
#[test]
fn an_entry_point_is_refused_alone() {
    let source = "@group(0) @binding(0) var t: texture_2d<f32>;
        @group(0) @binding(1) var<storage, read_write> x: array<f32>;
        fn shade(at: u32) -> f32 { return textureLoad(t, vec2u(at), 0).x; }
        @fragment fn paint() -> @location(0) vec4f { return vec4f(shade(1u)); }
        @compute @workgroup_size(1) fn draw() { x[0] = shade(0u); }
        @compute @workgroup_size(1) fn clear() { x[0] = 0.0; }";
    let program = Program::parse("k.wgsl", source).expect("it is WGSL");
    let clear = program.entry("clear").expect("it uses a buffer alone");
    assert_eq!(clear.variables.len(), 1, "and no texture");
    assert_eq!((program.refusal("clear"), program.entry("draw")), (None, None), "apart");
    let refusal = program.refusal("draw").expect("it cannot run").to_string();
    let expected =
        "entry point 'draw' uses 't', which is a texture or a sampler: only buffers can be bound";
    assert_eq!(refusal, expected, "which, what");
    assert_eq!(program.names().collect::<Vec<_>>(), ["clear", "draw"], "all of compute");
}

/// However its directives are written.
#[test]
fn a_program_that_enables_subgroups_is_one() {
    let main = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(32) fn main() { x[0] = subgroupAdd(1u); }";
    for enabled in [
        "enable subgroups;",
        "enable f16; enable subgroups;",
        "enable\n    subgroups /* all */\n    ;",
        "enable f16,\n    subgroups;",
        "// subgroups\renable subgroups,;",
    ] {
        let program = Program::parse("k.wgsl", &format!("{enabled}\n{main}"));
        let program = program.unwrap_or_else(|error| panic!("{enabled}: {error}"));
        assert_eq!(program.names().collect::<Vec<_>>(), ["main"], "{enabled}");
    }
    for other in ["enable f16; enable subgroup;", "enable subgroups", "enable f16 subgroups;"] {
        let error =
            Program::parse("k.wgsl", &format!("{other}\n{main}")).expect_err("no WGSL").to_string();
        assert!(error.starts_with("line "), "{other}: {error}");
    }
}
