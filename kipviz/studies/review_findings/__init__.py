"""The findings of our reviews, and what each one looks for in a run."""
