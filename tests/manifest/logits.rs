//! Kernels that return gradients by the logits of the opacities.

use std::fs;
use std::path::Path;

use splatcheck_tests::say;

use super::{case, kernel, reproducer};

/// The gradients by the logits x of the opacities o, from those by o: times o (1 - o).
pub(crate) const TO_LOGITS: &str = "
.visible .entry to_logits(.param .u32 count, .param .u64 o, .param .u64 v_o, .param .u64 v_x)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<7>;
    ld.param.u32 %r1, [count];
    ld.param.u64 %rd1, [o];
    ld.param.u64 %rd2, [v_o];
    ld.param.u64 %rd3, [v_x];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r2, 256, %r3;
    setp.ge.u32 %p1, %r4, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd4, %r4, 4;
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    add.s64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5];
    ld.global.f32 %f2, [%rd6];
    mov.f32 %f3, 0f3F800000;
    sub.rn.f32 %f4, %f3, %f1;
    mul.rn.f32 %f5, %f1, %f4;
    mul.rn.f32 %f6, %f2, %f5;
    st.global.f32 [%rd7], %f6;
DONE:
    ret;
}
";

/// The kernel with gsplat's parameter list, and behind it one that makes the gradients those by logits.
pub(crate) fn by_logits(folder: &Path, to_logits: &str) -> [String; 2] {
    let program = fs::read_to_string(kernel("gsplat_backward.ptx")).expect("readable");
    let text = fs::read_to_string(kernel("gsplat_backward.toml")).expect("readable");
    let text = text.replace("{ tensor = \"v_opacities\" }", "{ buffer = \"v_opacities\" }");
    let launch = text.find("kernel = ").expect("a kernel");
    let (preset, rest) = text[launch..].split_once("preset = ").expect("a preset");
    let (name, rest) = rest.split_once("block = ").expect("a block");
    let manifest = format!(
        "preset = {name}[buffer.v_opacities]\nzeros = {{ dtype = \"f32\", shape = [\"N\"] }}\n\
         [[launch]]\n{preset}block = {rest}\n[[launch]]\nkernel = \"to_logits\"\nblock = [256]\n\
         grid = [\"max(1, ceil_div(N, 256))\"]\nparameter = [{{ u32 = \"N\" }}, \
         {{ tensor = \"opacities\" }}, {{ buffer = \"v_opacities\" }}, {{ tensor = \"v_logits\" }}]\n"
    );
    let files = ["logits.ptx", "logits.toml"].map(|name| folder.join(name));
    fs::write(&files[0], program + to_logits).expect("written");
    fs::write(&files[1], manifest).expect("written");
    files.map(|file| file.to_str().expect("a plain name").to_owned())
}

#[test]
fn gradients_by_logits_are_judged_as_that() {
    let folder = tempfile::tempdir().expect("a folder");
    let judge = |to_logits: &str, more: &[&str]| {
        let [program, manifest] = by_logits(folder.path(), to_logits);
        say(folder.path(), &[&["ptx", &program, "--manifest", &manifest][..], more].concat())
    };
    judge(TO_LOGITS, &["--cases", "20", "--jobs", "2"]).exits(0);
    // Without the factor of 1 - o they are no gradients by logits, and not those by opacities.
    let without = TO_LOGITS.replace("mul.rn.f32 %f5, %f1, %f4;", "mov.f32 %f5, %f1;");
    let scene = case("tile-corner");
    let said = judge(&without, &scene.each_ref().map(String::as_str)).exits(1);
    said.prints("v_opacities");
    let file = reproducer(folder.path(), &said);
    let file = file.to_str().expect("a plain name");
    let again = say(folder.path(), &["replay", file]);
    assert_eq!(again.code, Some(1), "it is judged by logits again: {again:?}");
    // A right kernel's reproducer would not fail: the note of it is what makes the gradients those by logits.
    let bytes = fs::read(file).expect("readable");
    let note = b"splatcheck.gradients_of_logits";
    assert!(bytes.windows(note.len()).any(|part| part == note), "{file}");
}

#[test]
fn of_both_gradients_of_opacities_one_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let [program, manifest] = by_logits(folder.path(), TO_LOGITS);
    let text = fs::read_to_string(&manifest).expect("readable");
    let both = text.replace("{ buffer = \"v_opacities\" }", "{ tensor = \"v_opacities\" }");
    let both =
        both.replace("[buffer.v_opacities]\nzeros = { dtype = \"f32\", shape = [\"N\"] }\n", "");
    fs::write(&manifest, both).expect("written");
    let said =
        say(folder.path(), &["ptx", &program, "--manifest", &manifest, "--cases", "1"]).exits(2);
    said.complains("v_logits beside v_opacities");
    said.complains("give the other a buffer of its own");
}
