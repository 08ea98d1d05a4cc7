"""``python -m splatcheck`` and the script ``splatcheck``: the command line."""

from __future__ import annotations

import signal
import sys

from ._native import run_command


def main() -> int:
    """Runs the command line of this process; returns the exit code."""
    if sys.argv[1:2] == ["import"]:
        from ._importing import main as import_files

        return import_files(sys.argv[2:])
    # No line of Python runs until the command ends, so that Python's own handler would wait for it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(sys.executable, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
