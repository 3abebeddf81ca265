"""Seeded runs by the hundred: the plan, a loop that makes them, and the table of their verdicts."""
