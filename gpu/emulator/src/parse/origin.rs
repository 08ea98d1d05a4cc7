//! Which line of the source an instruction is of, as the `.loc` before it says.

use super::{Located, Source, Token};

/// A place in the source that a `.loc` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The line of the `.loc`: those that follow are of this place.
    pub(super) ptx: u32,
    pub(super) file: u32,
    pub(super) line: u32,
    /// 0 where it is not told.
    pub(super) column: u32,
    /// File and line of the call, where the compiler put a function in its place.
    pub(super) call: Option<[u32; 2]>,
}

/// Headers whose functions stand for operations: their lines tell nobody which operation of a kernel it is.
const LIBRARY: [&str; 6] = [
    "markers.cuh",
    "cuda_fp16.hpp",
    "cuda_bf16.hpp",
    "math_functions.hpp",
    "device_functions.hpp",
    "device_atomic_functions.hpp",
];

impl Source<'_> {
    /// The file and line of a PTX line of a function that begins at `first`; of a function of the library the line
    /// that calls it.
    pub(crate) fn origin(&self, first: u32, line: u32) -> Option<String> {
        let after = self.origins.partition_point(|origin| origin.ptx <= line);
        let mut back = self.origins[..after].iter().rev().take_while(|o| o.ptx >= first);
        let own = back.next().filter(|origin| origin.line > 0)?;
        let (mut place, mut call) = ([own.file, own.line], own.call);
        while let Some(caller) = call.filter(|_| self.is_of_library(place[0])) {
            place = caller;
            // A call within the library has a line of its own before, which says where that was called.
            call = back.find(|origin| [origin.file, origin.line] == place).and_then(|o| o.call);
        }
        let name = self.name(place[0])?;
        // A line of WGSL has more than one operation of a kind; CUDA's columns are the compiler's guess.
        let column = name.ends_with(".wgsl").then_some(own.column).filter(|&column| column > 0);
        let column = column.map_or_else(String::new, |column| format!(":{column}"));
        Some(format!("{name}:{}{column}", place[1]))
    }

    /// The name of a source file, without its folder.
    fn name(&self, file: u32) -> Option<&str> {
        let path = self.files.get(&file)?;
        Some(path.rsplit(['/', '\\']).next().unwrap_or(path))
    }

    fn is_of_library(&self, file: u32) -> bool {
        // And those of an architecture, as sm_30_intrinsics.hpp.
        let is_of_architecture = |name: &str| name.starts_with("sm_") && name.ends_with(".hpp");
        self.name(file).is_some_and(|name| LIBRARY.contains(&name) || is_of_architecture(name))
    }
}

/// File and line behind the `inlined_at` of a `.loc` in a line of PTX.
pub(super) fn call_of(rest: &[Located<'_>], line: u32) -> Option<[u32; 2]> {
    let own = rest.iter().take_while(|located| located.line == line);
    let mut behind = own.skip_while(|located| located.token != Token::Word("inlined_at")).skip(1);
    let mut next = || match behind.next()?.token {
        Token::Number(text) => text.parse().ok(),
        Token::Word(_) | Token::Text(_) | Token::Mark(_) => None,
    };
    Some([next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn a_function_of_the_library_is_told_by_the_line_that_calls_it() {
        let text = "\
.version 8.4
.target sm_75
.address_size 64
.visible .entry k()
{
    .loc 1 48 9
    .loc 2 421 5, function_name $L__info_string3, inlined_at 1 48 9
    .loc 2 416 5, function_name $L__info_string6, inlined_at 2 421 5
    bar.sync 0;
    .loc 3 86 5, function_name $L__info_string0, inlined_at 1 55 5
    bar.sync 0;
    .loc 4 112 5, function_name $L__info_string0, inlined_at 1 60 5
    bar.sync 0;
    ret;
}
.file 1 \"/somewhere/k.cu\"
.file 2 \"/functions/markers.cuh\"
.file 3 \"own.h\"
.file 4 \"/cuda/include/sm_30_intrinsics.hpp\"
";
        let source = parse(text).expect("what -lineinfo gives");
        assert_eq!(source.origin(5, 9).as_deref(), Some("k.cu:48"), "the call of the call");
        assert_eq!(source.origin(5, 11).as_deref(), Some("own.h:86"), "the author's own function");
        assert_eq!(source.origin(5, 13).as_deref(), Some("k.cu:60"), "a shuffle");
    }
}
