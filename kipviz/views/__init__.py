"""Plain view models: what the page shows at each step, as words, rows and marks."""
