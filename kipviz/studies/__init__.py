"""Questions that are debated about the drafts, each with an answer that kipviz computes."""
