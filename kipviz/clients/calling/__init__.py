"""What the calls of an application thread do, by the client whose method they are; `calls` has their table."""
