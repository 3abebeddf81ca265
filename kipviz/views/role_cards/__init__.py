"""The cards beside the diagram: what every role, client and lane knows, and a reader's own card."""
