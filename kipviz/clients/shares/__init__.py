"""The share consumer: its records, its acknowledgements, and its handover to a producer."""
