"""Floors: ops < server.numerics < server < templates, static. Imports only point down."""
