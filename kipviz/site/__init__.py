"""The site: static files that show every story without a server, and run the model in a worker."""
