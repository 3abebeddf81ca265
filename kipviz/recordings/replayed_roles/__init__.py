"""The answers of brokers, followed role by role and converted for the comparison with the model's."""
