"""KIP-1289's test plan: performance, chaos, alerts, and the matrix of versions."""
