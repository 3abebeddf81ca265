"""A single run: made, saved, linked, shortened, given another course, left alone."""
