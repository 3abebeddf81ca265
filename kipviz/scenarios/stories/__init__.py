"""The stories: Markdown documents, in a room for each KIP. `kipviz.scenarios.library` finds them by name."""
