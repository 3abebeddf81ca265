"""Validation of a cluster, an application and its program: an invalid spec is rejected with one sentence."""
