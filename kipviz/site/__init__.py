"""The site: static files that show every story without a server, and answer with the model in a worker."""
