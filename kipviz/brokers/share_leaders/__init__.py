"""The leader of a share-partition: which member holds which record, and for how long."""
