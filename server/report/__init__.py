"""The report on the visitor's own Functions: in the terminal, for a CI server, and as one page."""
