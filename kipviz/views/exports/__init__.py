"""A run in formats of others: diagrams, tables, pictures, bytes as text, a test."""
