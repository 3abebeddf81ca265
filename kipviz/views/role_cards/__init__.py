"""The cards beside the diagram: the state of every role, client and lane, and a reader's own card."""
