"""Plain view-models: what the page shows at each step, in words, rows and marks."""
