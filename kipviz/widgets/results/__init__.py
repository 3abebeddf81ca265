"""Results in a notebook: tables and charts of searches, campaigns and reviews, whose rows open in the stepper."""
