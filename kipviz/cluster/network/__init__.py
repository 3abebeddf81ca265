"""Hosts in a network partition, paused hosts, and messages that arrive late."""
