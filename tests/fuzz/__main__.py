"""`python -m tests.fuzz` is `make fuzz`; who interrupts it while it is still being loaded hears what he hears later."""

from __future__ import annotations

import sys


def main() -> int:
    """Load the program, and run it."""
    try:
        from tests.fuzz.program import main as program

        return program()
    except KeyboardInterrupt:
        sys.stderr.write("fuzz: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
