"""The members of classic groups and of share groups, followed from their first request to their last."""
