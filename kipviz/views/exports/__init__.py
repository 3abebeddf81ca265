"""A run in other formats: diagrams, tables, pictures, bytes as text, a test."""
