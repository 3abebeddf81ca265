"""Hosts that are cut apart or stand still, and messages that arrive late."""
