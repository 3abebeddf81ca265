"""The stories: Markdown documents, in a folder for each KIP. `kipviz.scenarios.library` finds them by name."""
