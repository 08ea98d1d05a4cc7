"""The command line, and how long it takes to have splatcheck at hand."""

import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
import splatcheck


def say(*arguments, **options):
    command = [sys.executable, "-m", "splatcheck", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def test_the_command_says_its_version_and_refuses_what_it_does_not_know():
    said = say("--version")
    assert (said.returncode, said.stdout) == (0, f"splatcheck {splatcheck.__version__}\n")
    said = say("self-check", "--nothing")
    assert said.returncode == 2 and "--nothing" in said.stderr and "Usage: splatcheck" in said.stderr
    said = say("judge", "none.safetensors", "none.safetensors")
    assert said.returncode == 2 and said.stderr.startswith("error: judge none.safetensors")


def test_the_script_is_the_same_command():
    script = Path(sysconfig.get_path("scripts")) / "splatcheck"
    if not script.is_file():
        pytest.skip("NOT EXERCISED: the package is on the path, but was not installed: no script")
    said = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60)
    assert (said.returncode, said.stdout) == (0, say("--version").stdout)


def test_engines_are_processes_of_this_interpreter(tmp_path):
    said = say("self-check", "--engine", "emulator", "--cases", "2", "--reduction", "atomic", cwd=tmp_path)
    assert said.returncode == 0, said
    assert "emulator" in said.stdout and "disagree" in said.stdout, said
    said = say("devices", cwd=tmp_path)
    assert said.returncode == 0 and "emulator" in said.stdout, said


def test_cases_of_the_command_are_those_of_the_package(tmp_path):
    said = say("cases", "--out", str(tmp_path), "--count", "2", "--seed", "7")
    assert said.returncode == 0, said
    files = {file.stem for file in (tmp_path / "inputs").iterdir()}
    assert {case.name for case in splatcheck.cases(count=2, seed=7)} <= files


def test_it_is_imported_at_once():
    numpy = "import time, numpy; start = time.perf_counter(); import splatcheck; "
    best = min(
        float(subprocess.run(
            [sys.executable, "-c", numpy + "print(time.perf_counter() - start)"],
            capture_output=True, text=True, check=True,
        ).stdout)
        for _ in range(5)
    )
    print(f"import splatcheck: {best:.3f} s beside numpy's own")
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import splatcheck"], check=True)
    print(f"with numpy and the interpreter: {time.perf_counter() - start:.3f} s")
    assert best < 0.3
