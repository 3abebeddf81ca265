"""Asking a model whether its promises hold: seeded runs, exhaustive search, comparison."""
