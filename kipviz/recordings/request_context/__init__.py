"""What is known at the time of a recorded request: from logs, ACLs, clocks, and memory."""
