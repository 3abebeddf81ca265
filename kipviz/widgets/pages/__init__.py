"""What a page shows of a run: its data and their schema, the words, and the page as a file."""
