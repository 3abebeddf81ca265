"""The answers of partition leaders and coordinators, converted for the comparison with the model's."""
