"""Turns on several machines: gateways submit them through a queue in PostgreSQL, and workers run them."""
