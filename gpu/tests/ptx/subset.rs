//! The part of PTX that the emulator executes (the design's `emulator.md`): 32- and 64-bit integers,
//! f32 and predicates; global, shared, parameter and constant memory. No calls, no local memory (an
//! array that is indexed at run time), no f64, no 16-bit arithmetic.

/// Operations.
const OPERATIONS: [&str; 46] = [
    "abs",
    "activemask",
    "add",
    "and",
    "atom",
    "bar",
    "bfe",
    "bfi",
    "bfind",
    "bra",
    "brev",
    "clz",
    "cvt",
    "cvta",
    "div",
    "ex2",
    "fma",
    "ld",
    "lg2",
    "mad",
    "match",
    "max",
    "membar",
    "min",
    "mov",
    "mul",
    "neg",
    "not",
    "or",
    "popc",
    "rcp",
    "red",
    "redux",
    "rem",
    "ret",
    "rsqrt",
    "selp",
    "setp",
    "shfl",
    "shl",
    "shr",
    "sqrt",
    "st",
    "sub",
    "vote",
    "xor",
];

/// What may follow an operation; `exit` is an operation that no kernel needs today.
const MODIFIERS: [&str; 65] = [
    "and", "any", "all", "add", "approx", "ballot", "bfly", "b32", "b64", "cas", "down", "eq",
    "equ", "exch", "f32", "ftz", "full", "ge", "geu", "global", "gt", "gtu", "hi", "idx", "le",
    "leu", "lo", "lt", "ltu", "max", "min", "nan", "nc", "ne", "neu", "num", "or", "param", "popc",
    "pred", "red", "rm", "rmi", "rn", "rni", "rp", "rpi", "rz", "rzi", "sat", "shared", "shiftamt",
    "sync", "s32", "s64", "to", "uni", "up", "u32", "u64", "v2", "v4", "warp", "wide", "xor",
];

/// Directives, at the beginning of a statement or of a declaration.
const DIRECTIVES: [&str; 15] = [
    "address_size",
    "align",
    "const",
    "entry",
    "file",
    "global",
    "loc",
    "maxntid",
    "minnctapersm",
    "param",
    "pragma",
    "reg",
    "shared",
    "target",
    "version",
];

/// Everything outside the subset, as `file:line: statement`.
pub(crate) fn foreign(file: &str, text: &str) -> Vec<String> {
    let numbered = text.lines().enumerate();
    let foreign = numbered.filter(|(_, line)| !known(line));
    foreign.map(|(i, line)| format!("{file}:{}: {}", i + 1, line.trim())).collect()
}

/// The first word of a line and what follows from it on: neither comment, visibility, braces nor a guard.
fn statement(line: &str) -> (&str, &str) {
    let code = line.split("//").next().unwrap_or_default().trim();
    let code = code.strip_prefix(".visible").unwrap_or(code).trim_start_matches(['{', '}', ' ']);
    // A guard, as in `@!%p1 bra`.
    let code = match code.strip_prefix('@') {
        Some(guarded) => {
            guarded.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim())
        }
        None => code,
    };
    (code.split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or_default(), code)
}

/// The operation of an instruction, without types and modifiers; `None` for any other line.
pub(crate) fn operation(line: &str) -> Option<&str> {
    let (word, code) = statement(line);
    (code.ends_with(';') && !word.starts_with('.')).then(|| word.split('.').next())?
}

fn known(line: &str) -> bool {
    let (word, code) = statement(line);
    if word.is_empty() || word.ends_with(':') || word == ")" {
        return true;
    }
    if let Some(directive) = word.strip_prefix('.') {
        return DIRECTIVES.contains(&directive) && !code.contains(".f64");
    }
    let mut parts = word.split('.');
    parts.next().is_some_and(|operation| OPERATIONS.contains(&operation))
        && parts.all(|modifier| MODIFIERS.contains(&modifier))
}

#[test]
fn what_is_outside_is_found() {
    let text = "\tadd.f32 \t%f1, %f2, %f3;\n\t.local .align 4 .b8 \t__local_depot0[128];\n\
                \t@%p1 bra \t$L__BB0_2;\n\t@!%p1 add.f64 \t%fd1, %fd2, %fd3;\n\
                \tcall.uni \n\tsetp.eq.s16 \t%p1, %rs1, 0;\n";
    let lines: Vec<_> = foreign("x.ptx", text).into_iter().map(|l| l[..8].to_owned()).collect();
    assert_eq!(lines, ["x.ptx:2:", "x.ptx:4:", "x.ptx:5:", "x.ptx:6:"], "outside the subset");
}
