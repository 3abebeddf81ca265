"""Lessons: predictions made from what is possible, and goals checked on the learner's own run."""
