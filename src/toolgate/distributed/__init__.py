"""Turns on several machines: gateways hand them out through PostgreSQL and dbos, workers play them."""
