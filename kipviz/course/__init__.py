"""The course: labs as documents, their judge, and hand-ins, which are lines of text."""
