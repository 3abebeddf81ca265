"""`python -m kipviz` is the command `kipviz`."""

import sys

from kipviz.command.main import main

if __name__ == "__main__":
    sys.exit(main())
