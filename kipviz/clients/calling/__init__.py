"""The calls of an application thread, grouped by the client whose method they are. `calls` has their table."""
