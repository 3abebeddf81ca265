"""Stories as Markdown documents: how one is read, checked and written."""
