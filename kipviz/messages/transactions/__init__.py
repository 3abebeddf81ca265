"""Messages of transactions: producers, operators, heartbeats, two-phase commits."""
