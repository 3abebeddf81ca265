"""The group coordinator: committed offsets, what kinds of groups there are, and what an operator asks of them."""
