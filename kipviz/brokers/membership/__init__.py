"""The members of groups: classic groups, KIP-848 groups and share groups."""
