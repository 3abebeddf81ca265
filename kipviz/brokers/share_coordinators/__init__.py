"""The share coordinator: what is durable of a share-partition."""
