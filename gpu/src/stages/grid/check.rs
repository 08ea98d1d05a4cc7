//! What shapes do not say of the inputs: what would lead a kernel outside of an array, or is more than it is
//! written for. Positions may be anything.

use super::shared::{FIELDS, MOST_DIMENSIONS, MOST_FEATURES};
use crate::error::EngineError;
use crate::stage::Sizes;
use crate::tensor::Tensors;

fn fail<T>(message: String) -> Result<T, EngineError> {
    Err(EngineError::Input(message))
}

pub(super) fn check(inputs: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    for (symbol, what, most) in
        [("d", "numbers of a position", MOST_DIMENSIONS), ("F", "features", MOST_FEATURES)]
    {
        let found = sizes.get(symbol);
        if !(1..=most).contains(&found) {
            return fail(format!("there are {found} {what}, expected 1 to {most}"));
        }
    }
    fields(inputs, &FIELDS)?;
    levels(inputs.u32("offsets")?, sizes.get("E"))
}

/// That the numbers which stand for fields are known.
pub(super) fn fields(inputs: &Tensors, all: &[(&str, &[&str])]) -> Result<(), EngineError> {
    for (name, values) in all {
        let number = inputs.u32(name)?[0];
        if number as usize >= values.len() {
            let last = values.len() - 1;
            let names = values.join(", ");
            return fail(format!("{name} is {number}, expected 0 to {last}: {names}"));
        }
    }
    Ok(())
}

/// Entries of a level that the table has not got would be read and added to.
fn levels(offsets: &[u32], entries: usize) -> Result<(), EngineError> {
    let [first @ 0, .., last] = *offsets else {
        return fail(format!("offsets is {offsets:?}, expected 0 and the end of each level"));
    };
    if let Some(l) = offsets.windows(2).position(|ends| ends[0] >= ends[1]) {
        let [begin, end] = [offsets[l], offsets[l + 1]];
        return fail(format!("level {l} has the entries from {begin} to {end}: expected some"));
    }
    if last as usize != entries {
        return fail(format!("offsets go from {first} to {last}, but there are {entries} entries"));
    }
    Ok(())
}
