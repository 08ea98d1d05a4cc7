//! Stores of bytes into words that hold numbers of 16 bits.

use super::run::{elementwise, execute, numbers, schedules};
use crate::Loss;

/// What lies at 0 and 2 of the lane's own word in shared memory are two halves; the lower one is read again.
fn body(store: &str) -> String {
    format!(
        "cvt.rn.f16.f32 %h1, %f1;\nneg.f16 %h2, %h1;\nmov.u32 %r2, shared;\nmad.lo.u32 %r2, %r1, 4, %r2;\n\
         st.shared.b16 [%r2], %h1;\nst.shared.b16 [%r2+2], %h2;\nbar.sync 0;\n{store}\nbar.sync 0;\n\
         ld.shared.b16 %h3, [%r2];\ncvt.f32.f16 %f3, %h3;\nadd.f32 %f2, %f3, 0f3F800000;"
    )
}

#[test]
fn a_byte_stored_into_a_half_loses_it_aloud() {
    for at in [0, 1] {
        let body = body(&format!("st.shared.u8 [%r2+{at}], %r1;"));
        for schedule in schedules() {
            let outcome = execute(&elementwise(&body), &numbers(), &schedule);
            let losses = outcome.memory.losses();
            assert_eq!(losses.len(), 1, "{body}: {losses:?}");
            assert_eq!((losses[0].loss, losses[0].count), (Loss::Bits, 32), "{body}");
            let slopes = outcome.slopes();
            assert!(slopes.iter().all(|slope| slope.uncertainty == f64::INFINITY), "{slopes:?}");
        }
    }
}

#[test]
fn a_half_stored_beside_a_half_leaves_it() {
    for schedule in schedules() {
        let outcome =
            execute(&elementwise(&body("st.shared.b16 [%r2+2], %r1;")), &numbers(), &schedule);
        assert_eq!(outcome.memory.losses(), [], "nothing is lost");
        let slopes = outcome.slopes();
        assert!(slopes.iter().all(|slope| slope.value == 1.0), "{slopes:?}");
    }
}
