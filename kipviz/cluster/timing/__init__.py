"""Time in the world: clocks, deadlines, timers, and Kafka's durations with their defaults."""
