"""Transactional acknowledgements of share records: staging, and the durability of their outcome (KIP-1289, draft)."""
