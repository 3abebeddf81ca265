"""The reasons behind a state: which steps caused it, what blocks it, and which host believes what."""
