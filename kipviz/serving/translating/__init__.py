"""A client's fields and bytes as the model's messages, and back."""
