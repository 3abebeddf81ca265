"""Consumers of regular groups, classic ones and those of KIP-848."""
