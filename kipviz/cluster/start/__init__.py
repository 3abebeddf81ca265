"""The world at its start, made from a spec: its logs and roles, its processes and their clients."""
