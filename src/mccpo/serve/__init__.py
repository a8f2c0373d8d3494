"""The decision service: a trained policy behind a gate that cannot be passed, with every decision on record."""
