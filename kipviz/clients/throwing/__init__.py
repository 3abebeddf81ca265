"""The errors of clients as values, and the exceptions that the application sees."""
