"""The decision service: a trained policy behind a gate that checks each of its choices, with every decision on record.

Its packages build on each other in this order: `policy`, `record`, `service`, `monitor`, `api`, `pages`. `access` (keys
and rights) and `problems` (refusals) stand before them.
"""
