"""The course: labs as documents, the judge of a run, and hand-ins, which are lines of text."""
