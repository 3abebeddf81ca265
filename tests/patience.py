"""How long a test waits for what it looks at."""

# In seconds. What does not come at all is told then; what comes late on a busy machine is right, so this is no
# statement about speed.
PATIENCE = 300
