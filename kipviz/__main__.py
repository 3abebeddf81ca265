"""`python -m kipviz` is the command `kipviz`, whose script begins here, too."""

import sys


def main() -> int:
    """Run the command; who interrupts it while it is still being loaded hears what he hears later."""
    try:
        # Inside, because an interruption while these are read is one, too.
        import signal

        from kipviz.command.main import main as command

        status = command()
        # All is said: an interruption while Python takes itself apart would be a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        sys.stderr.write("kipviz: interrupted\n")
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
