"""How long a test waits for what it looks at, and how."""

import time

# In seconds. What does not come at all is told then; what comes late on a busy machine is right, so this is no
# statement about speed.
PATIENCE = 300


def until(what):
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
