"""The stepper of a cluster that real clients are using now: it follows their steps and acts on their cluster."""
