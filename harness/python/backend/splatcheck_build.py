"""Builds the package by maturin, once it is sure that there is a cargo that can.

Without cargo maturin would ask for a package that downloads Rust while pip shows nothing, and an old cargo ends
in a page of errors. This says in one line what to do.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path


def rust_version():
    """The `rust-version` of the workspace, which is above this file in the source tree and in an sdist alike."""
    for folder in Path(__file__).resolve().parents:
        manifest = folder / "Cargo.toml"
        text = manifest.read_text(encoding="utf-8") if manifest.is_file() else ""
        if found := re.search(r'^rust-version = "([0-9.]+)"', text, re.MULTILINE):
            return found[1]
    raise SystemExit("splatcheck: no Cargo.toml above this package names a rust-version: build it in its source tree")


def numbers(version):
    """`1.95.0` as numbers, by which versions are in order."""
    return [int(number) for number in version.split(".")]


def need_cargo():
    """Ends the build with what to do where cargo is missing or too old."""
    wanted = rust_version()
    advice = f"splatcheck is built from Rust and needs cargo {wanted} or later: install it from https://rustup.rs"
    cargo = shutil.which("cargo")
    if cargo is None:
        raise SystemExit(f"{advice} (there is no cargo in PATH: {os.environ.get('PATH', '')})")
    said = subprocess.run([cargo, "--version"], capture_output=True, text=True)
    found = re.match(r"cargo ([0-9]+\.[0-9]+)", said.stdout)
    if found is None:
        raise SystemExit(f"{advice} ({cargo} --version fails: {said.stderr.strip() or said.stdout.strip()})")
    if numbers(found[1]) < numbers(wanted):
        raise SystemExit(f"{advice} ({cargo} is {found[1]}; 'rustup update' brings a new one)")


# Before any hook of a build: whoever imports this is about to build.
need_cargo()

from maturin import (  # noqa: E402, F401
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
