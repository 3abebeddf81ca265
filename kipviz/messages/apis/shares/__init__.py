"""Share groups: the leader of a share-partition, the share coordinator, and operators' requests."""
