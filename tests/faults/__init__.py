"""Faults of MongoDB, its network and gateways, and what clients are answered meanwhile."""
