"""The options of the slots, by subject."""
