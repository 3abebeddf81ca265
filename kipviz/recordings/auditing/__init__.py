"""An exactly-once audit of a cluster's logs: evidence, rules, findings."""
