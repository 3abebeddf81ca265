"""What brokers answered, followed role by role and put into words that stand against the model's."""
