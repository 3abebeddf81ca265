"""What happens next in a served cluster: its own steps, fault points, and how a reader names a held message."""
