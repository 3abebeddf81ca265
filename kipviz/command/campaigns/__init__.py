"""Commands about seeded runs by the thousand."""
