"""Consumer groups: offsets, members of both protocols, and operators' requests."""
