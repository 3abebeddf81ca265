"""`python -m kipviz` is the command `kipviz`; the installed script starts here, too."""

import sys


def main() -> int:
    """Run the command; an interrupt during the imports is reported as one during the work."""
    try:
        # Imported here, because an interrupt during these imports has to be caught, too.
        import signal

        from kipviz.command import interrupts

        interrupts.begin()
        from kipviz.command.main import main as command

        status = command()
        # All output is written: an interrupt during Python's shutdown would only print a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        sys.stderr.write("kipviz: interrupted\n")
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
