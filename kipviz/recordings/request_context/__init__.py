"""What is known at the time of a recorded request: from the logs, from ACLs, from clocks, from memory."""
