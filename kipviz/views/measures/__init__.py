"""Measures of runs: counters, rates, durations, costs."""
