"""Large replays on Spark: the only floor that imports Spark."""
