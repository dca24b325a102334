"""The visitor's own Functions: found, imported, and described behind the door."""
