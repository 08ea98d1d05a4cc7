//! Where things are said to be.

use super::run::{elementwise, execute, numbers};
use crate::{Loss, Schedule};

const TEXT: &str = "\
.version 8.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 input, .param .u64 output)
{
.reg .b32 %r<9>;
.reg .f32 %f<9>;
.reg .b64 %d<9>;
.loc 1 7 0
ld.param.u64 %d3, [input];
ld.param.u64 %d4, [output];
mov.u32 %r1, %tid.x;
mad.wide.u32 %d1, %r1, 4, %d3;
mad.wide.u32 %d2, %r1, 4, %d4;
ld.global.f32 %f1, [%d1];
.loc 1 8 0
mov.b32 %r2, %f1;
shr.u32 %r3, %r2, 1;
.loc 1 9 0
mov.b32 %f2, %r3;
add.f32 %f2, %f2, %f2;
.loc 1 10 0
st.global.f32 [%d2], %f2;
ret;
}
.file 1 \"/somewhere/k.cu\"
";

#[test]
fn losses_name_the_line_of_the_source() {
    let outcome = execute(TEXT, &numbers(), &Schedule::lockstep());
    let losses = outcome.memory.losses();
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert_eq!(losses[0].loss, Loss::Bits, "its bits were halved");
    assert_eq!(losses[0].place.source.as_deref(), Some("k.cu:9"), "where it is a float again");
    assert_eq!(losses[0].place.to_string(), "k.cu:9 (PTX line 21 of k)", "both lines");
}

/// (x + 1e4) - 1e4 loses its digits by the sum: the difference of two numbers that are near one another is exact.
#[test]
fn roundings_are_weighed_by_what_they_move() {
    let text = elementwise(
        "add.f32 %f3, %f1, 0f461C4000;\nsub.f32 %f3, %f3, 0f461C4000;\nabs.f32 %f3, %f3;\nmul.f32 %f2, %f3, %f3;",
    );
    let outcome = execute(&text, &[0.5; 32], &Schedule::lockstep());
    let found = outcome.memory.roundings(outcome.output, 3).expect("there is a tape");
    let line = |opcode: &str| {
        let at = text.lines().position(|line| line.starts_with(opcode)).expect("it is there");
        u32::try_from(at).expect("few lines") + 1
    };
    let half = 1.0 / 16_777_216.0;
    // The square's derivative is 2 x = 1.
    let expected = [("add", half * 10_000.5), ("sub", half * 0.5), ("mul", half * 0.25)]
        .map(|(opcode, by)| (line(opcode), by));
    let found: Vec<_> = found.iter().map(|(place, moved)| (place.line, *moved)).collect();
    assert_eq!(found, expected, "the absolute value rounds nothing");
}
