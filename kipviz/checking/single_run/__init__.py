"""A single run: made, saved, linked, shortened, changed, continued to its end."""
