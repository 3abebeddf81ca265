"""The claims of the texts, section by section, and how each claim is judged."""
