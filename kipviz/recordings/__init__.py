"""Logs and runs of real brokers, read into plain values."""
