"""What the texts claim, section by section, and how each claim is judged."""
