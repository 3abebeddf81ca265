"""What runs add up to: counters, rates, durations, costs."""
