//! The names of kernels in C++, as people write them.

use cpp_demangle::{DemangleOptions, Symbol};

/// A name in C++, if it is a mangled one.
#[must_use]
pub fn demangled(name: &str) -> Option<String> {
    // What is `extern "C"` is not mangled: a kernel `b` is no bool.
    let symbol = Symbol::new(name).ok().filter(|_| name.starts_with("_Z"))?;
    symbol.demangle_with_options(&DemangleOptions::default()).ok()
}

/// A kernel's name without its parameters, what it returns and an unnamed namespace, as `own::f<3>`.
#[must_use]
pub fn plain_name(name: &str) -> String {
    let Some(words) = demangled(name) else { return name.to_owned() };
    let words = words.replace("(anonymous namespace)::", "");
    let (mut depth, mut begin) = (0_u32, 0);
    for (at, letter) in words.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => begin = at + 1,
            '(' if depth == 0 => return spelled(&words[begin..at]),
            _ => {}
        }
    }
    spelled(&words[begin..])
}

/// A name in C++ in one spelling, whichever tool printed it: without blanks, and of a template's numbers (`3`,
/// `3u`, `(unsigned int)3`) the digits alone.
#[must_use]
pub fn spelled(words: &str) -> String {
    const CASTS: [&str; 6] =
        ["(unsignedint)", "(unsignedlonglong)", "(unsignedlong)", "(longlong)", "(long)", "(int)"];
    let mut all: String = words.chars().filter(|letter| !letter.is_whitespace()).collect();
    for cast in CASTS {
        for before in ["<", ","] {
            for digit in '0'..='9' {
                all = all.replace(&format!("{before}{cast}{digit}"), &format!("{before}{digit}"));
            }
        }
    }
    let mut out = String::with_capacity(all.len());
    let (mut number, mut begins) = (false, false);
    for letter in all.chars() {
        number = letter.is_ascii_digit() && (begins || number)
            || number && matches!(letter, 'u' | 'l' | 'U' | 'L');
        if !(number && letter.is_ascii_alphabetic()) {
            out.push(letter);
        }
        begins = matches!(letter, '<' | ',');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_without_its_parameters() {
        for (mangled, plain) in [
            ("own_backward", "own_backward"),
            ("b", "b"),
            (
                "_ZN3own23rasterize_to_pixels_bwdILj3EEEvjjjbPK6float2",
                "own::rasterize_to_pixels_bwd<3>",
            ),
            ("_Z4plusPfS_i", "plus"),
            ("_ZN12_GLOBAL__N_14plusEPf", "plus"),
        ] {
            assert_eq!(plain_name(mangled), plain);
        }
    }
}
