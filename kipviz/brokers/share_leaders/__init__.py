"""The leader of a share-partition: who holds which record, and for how long."""
