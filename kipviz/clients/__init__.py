"""The clients: producer, consumers, and the application that uses them."""
