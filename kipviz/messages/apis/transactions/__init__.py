"""A producer with a transactional id: its identity, what it adds, its end, its liveness, and operators' queries."""
