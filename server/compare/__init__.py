"""Two ops side by side: their address, their controls, what differs between them, and both sources."""
