"""Who is in a group: classic groups, groups of KIP-848 and share groups."""
