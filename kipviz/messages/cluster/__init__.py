"""Messages about the cluster: its brokers' releases, topics, coordinators and ACLs."""
