"""Spark itself: how it is found, started, watched and cancelled, and what its errors say."""
