"""The worlds of a broker at the time of a request: its logs, replayed, and what they leave open."""
