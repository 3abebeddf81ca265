"""The cluster: hosts, connections, faults, and the model that steps them."""
