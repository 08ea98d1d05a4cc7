//! Texts that are nearly right, from a seed: what random bytes would never reach.

/// Numbers that sizes, offsets, masks and registers trip over.
pub const NUMBERS: [&str; 20] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "31",
    "32",
    "33",
    "255",
    "1025",
    "65535",
    "65536",
    "16777216",
    "2147483647",
    "2147483648",
    "4294967295",
    "1099511627776",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
];

/// `SplitMix64`: the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((x ^ (x >> 31)) >> 32).unwrap_or(0) % n.max(1)
    }

    /// One of these.
    ///
    /// # Panics
    /// Where there is none.
    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Puts another number in the place of one of the line's.
fn other_number(line: &str, random: &mut Random) -> String {
    let bytes = line.as_bytes();
    let begins =
        |i: &usize| bytes[*i].is_ascii_digit() && (*i == 0 || !bytes[*i - 1].is_ascii_digit());
    let starts: Vec<_> = (0..bytes.len()).filter(begins).collect();
    let Some(&start) = starts.get(random.below(starts.len())) else { return line.to_owned() };
    let end = start + bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    format!("{}{}{}", &line[..start], random.pick(&NUMBERS), &line[end..])
}

/// A word of another line for one of this one's: names, operands and modifiers go astray.
fn other_word(line: &str, other: &str, random: &mut Random) -> String {
    let ends = [' ', '\t', ',', '.', '[', ']', '+', '=', '"', '{', '}'];
    let words =
        |text: &str| -> Vec<String> { text.split_inclusive(ends).map(str::to_owned).collect() };
    let (mut mine, theirs) = (words(line), words(other));
    if mine.is_empty() || theirs.is_empty() {
        return other.to_owned();
    }
    let at = random.below(mine.len());
    mine[at].clone_from(&theirs[random.below(theirs.len())]);
    mine.concat()
}

/// The text with a change or two: a number for another, a word for one of another line, lines doubled,
/// left out, cut off. Half of the changes hit a line that `declares` something, which has sizes.
#[must_use]
pub fn damaged(text: &str, declares: fn(&str) -> bool, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(4) / 3 {
        let declaring: Vec<_> = (0..lines.len()).filter(|&i| declares(&lines[i])).collect();
        let at = match declaring.get(random.below(2 * declaring.len())) {
            Some(&at) => at,
            None => random.below(lines.len()),
        };
        let other = lines[random.below(lines.len())].clone();
        match random.below(8) {
            0..=2 => lines[at] = other_number(&lines[at], random),
            3 | 4 => lines[at] = other_word(&lines[at], &other, random),
            5 => lines.insert(at, other),
            6 if lines.len() > 1 => {
                lines.remove(at);
            }
            _ => {
                let cut = lines[at].floor_char_boundary(random.below(lines[at].len() + 1));
                lines[at].truncate(cut);
            }
        }
    }
    lines.join("\n")
}

/// How many texts a test tries: `few`, or what `SPLATCHECK_FUZZ_CASES` says.
///
/// # Panics
/// Where that is no whole number.
#[must_use]
pub fn cases(few: u64) -> u64 {
    match std::env::var("SPLATCHECK_FUZZ_CASES") {
        Ok(text) => text.parse().expect("SPLATCHECK_FUZZ_CASES is a whole number"),
        Err(_) => few,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_text_and_most_are_others() {
        let text = ".reg .b32 %r<5>;\nmov.b32 %r1, 7;\nret;";
        let of = |seed| damaged(text, |line| line.starts_with('.'), &mut Random::new(seed));
        let all: std::collections::BTreeSet<_> = (0..100).map(of).collect();
        assert!(all.len() > 50, "{} texts of 100 seeds", all.len());
        assert_eq!(of(7), of(7), "the same text");
        assert!(all.iter().any(|text| text.contains("18446744073709551615")), "a large number");
    }
}
