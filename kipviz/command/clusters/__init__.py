"""Commands about real clusters and real clients: logs, audits, conformance, a served cluster."""
