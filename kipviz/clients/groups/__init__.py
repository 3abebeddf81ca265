"""Consumers of regular groups: classic consumers and those of KIP-848."""
