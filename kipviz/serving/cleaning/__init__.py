"""What keeps the memory of a served cluster bounded after its kept steps."""
