"""The stepper of a notebook: its cursor, the reader's branches, and what its page asks Python for."""
