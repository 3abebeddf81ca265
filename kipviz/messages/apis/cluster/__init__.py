"""Requests that any broker answers about the cluster: its topics, its coordinators, its ACLs."""
