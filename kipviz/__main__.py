"""`python -m kipviz` is the command `kipviz`, whose script begins here, too."""

import sys


def main() -> int:
    """Run the command; who interrupts it while it is still being loaded hears what he hears later."""
    try:
        from kipviz.command.main import main as command

        return command()
    except KeyboardInterrupt:
        sys.stderr.write("kipviz: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
