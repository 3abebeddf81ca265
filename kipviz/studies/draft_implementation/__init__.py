"""KIP-1289's draft implementation: its iterations, arrangements and ledger."""
