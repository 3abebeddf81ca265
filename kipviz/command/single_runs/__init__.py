"""Commands about one run or two: play, open, compare, export and replay it, and the course's labs."""
