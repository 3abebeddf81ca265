"""Input from outside the model: real clients, their saved runs, and the logs of a real broker."""
