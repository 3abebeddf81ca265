"""Votes of a transaction on share records: how they are staged, and how their outcome becomes durable (KIP-1289, draft)."""
