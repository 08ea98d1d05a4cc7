//! An example or a few of every command, for its `--help`.

/// The lines of each command. A test parses them.
pub(super) const EXAMPLES: [(&str, &[&str]); 30] = [
    (
        "check",
        &[
            "splatcheck check --command 'python3 my_kernel.py'",
            "splatcheck check --command ./my_kernel --preset gsplat-1.5 --level full --cases 50",
        ],
    ),
    (
        "self-check",
        &[
            "splatcheck self-check --engine emulator --reduction sw-b --cases 20",
            "splatcheck self-check --case corpora/splat/tile-corner.toml",
        ],
    ),
    ("acceptance", &["splatcheck acceptance --quick --out acceptance"]),
    ("cases", &["splatcheck cases --out my_cases --count 50 --preset inria"]),
    ("coverage", &["splatcheck coverage --workload scatter --cases 20"]),
    ("devices", &["splatcheck devices"]),
    ("doctor", &["splatcheck doctor > doctor.txt"]),
    ("formulations", &["splatcheck formulations --corpus corpora/splat"]),
    ("judge", &["splatcheck judge my_cases/cases/typical-0-0.safetensors result.safetensors"]),
    (
        "oracle",
        &[
            "splatcheck oracle corpora/splat/tile-corner.toml -o out.safetensors --bounds --model cuda",
        ],
    ),
    ("render", &["splatcheck render --ply scene.ply --cameras cameras.json -o image.png"]),
    (
        "replay",
        &[
            "splatcheck replay splatcheck-out/reproducer.safetensors",
            "splatcheck replay splatcheck-out/reproducer.safetensors --command 'python3 my_kernel.py'",
        ],
    ),
    ("report", &["splatcheck report run.json -o page.html"]),
    (
        "ptx",
        &[
            "splatcheck ptx my_kernel.cu --manifest my_kernel.toml --corpus built-in --cases 100",
            "splatcheck ptx my_kernel.ptx --manifest my_kernel.toml --schedule random --schedules 4",
        ],
    ),
    (
        "gradcheck",
        &[
            "splatcheck gradcheck --manifest pair.toml",
            "splatcheck gradcheck forward.ptx backward.ptx --manifest pair.toml --html page.html",
        ],
    ),
    ("compare", &["splatcheck compare right.ptx faster.ptx --manifest pair.toml"]),
    ("accuracy", &["splatcheck accuracy my_kernel.ptx --manifest my_kernel.toml"]),
    ("gallery", &["splatcheck gallery spheres surfels"]),
    (
        "wgsl",
        &["splatcheck wgsl my_kernel.wgsl --manifest my_kernel.toml --corpus built-in --cases 100"],
    ),
    ("traffic", &["splatcheck traffic --ply scene.ply --cameras cameras.json"]),
    ("sweep", &["splatcheck sweep --reduction sw-b -o sweep.svg"]),
    ("train", &["splatcheck train picture.png --steps 100 -o curves.svg"]),
    ("schedules", &["splatcheck schedules --seeds 4 --kind adversarial"]),
    (
        "mutants",
        &[
            "splatcheck mutants --workload scatter --engine emulator",
            "splatcheck mutants --generate 20 --ptx my_kernel.ptx --manifest my_kernel.toml",
        ],
    ),
    (
        "fuzz",
        &[
            "splatcheck fuzz --command 'python3 my_kernel.py' --time 10m",
            "splatcheck fuzz --engine emulator --cases 1000 --shard 1/4 --out part1",
        ],
    ),
    ("merge", &["splatcheck merge part1 part2 -o whole"]),
    ("setup", &["splatcheck setup nvcc"]),
    ("completions", &["splatcheck completions bash > splatcheck.bash"]),
    ("man", &["splatcheck man > splatcheck.1"]),
    ("engine", &["splatcheck engine --adapter lavapipe"]),
];

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::cli::help::command;
    use splatcheck_judge::engines::command::CommandLine;

    /// The words of a line, as a shell splits these.
    fn words(line: &str) -> Vec<OsString> {
        let line: CommandLine = line.parse().expect("words");
        let words = [line.program()].into_iter().chain(line.arguments().iter().map(AsRef::as_ref));
        words.map(OsString::from).collect()
    }

    #[test]
    fn every_command_has_an_example_that_parses_and_its_help_shows() {
        let mut command = command();
        let names: Vec<_> =
            command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
        for name in names.iter().filter(|name| *name != "help") {
            let found = EXAMPLES.iter().find(|(of, _)| of == name);
            let Some((_, lines)) = found else { panic!("{name} has no example") };
            let one = command.find_subcommand_mut(name).expect("it is there");
            let [short, long] =
                [one.render_help(), one.render_long_help()].map(|help| help.to_string());
            for line in *lines {
                assert!(short.contains(line) && long.contains(line), "{name}: {line}\n{short}");
                let typed = line.split(" > ").next().expect("a part");
                let parsed = super::super::command().try_get_matches_from(words(typed));
                let parsed = parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
                assert_eq!(parsed.subcommand_name(), Some(&**name), "{line}");
                assert!(line.len() <= 100, "{line}");
            }
        }
    }
}
