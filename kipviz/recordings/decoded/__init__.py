"""The records of internal topics and of the metadata log, decoded."""
