"""The spec of a cluster, the limits of each field, and what a profile leaves out."""
