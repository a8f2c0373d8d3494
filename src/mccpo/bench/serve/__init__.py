"""How fast decisions are served: a load that ends by itself, beside a bare endpoint that inserts one row durably."""

from mccpo.bench.serve.measurement import LEARNERS, measure

__all__ = ["LEARNERS", "measure"]
