"""Could the model have given a recorded answer? Questions, doubts, reports."""
