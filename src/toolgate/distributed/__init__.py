"""Turns on several machines: gateways submit them through PostgreSQL and dbos, and workers run them."""
