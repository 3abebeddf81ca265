"""Large replays on Spark: the only floor that knows it."""
