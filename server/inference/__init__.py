"""From nothing but a Function to a call that works: what it is given, and which of it is looked at."""
