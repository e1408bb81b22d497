"""Attacks on an installed Toolgate: `make redteam` runs them as every user in every sandbox layer."""
