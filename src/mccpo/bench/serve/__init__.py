"""How fast decisions are served: a load that ends by itself, beside a bare endpoint that inserts one row durably."""

from mccpo.bench.serve.disturbance import measure_disturbances
from mccpo.bench.serve.large_record import measure_large_record
from mccpo.bench.serve.measurement import LEARNERS, measure
from mccpo.bench.serve.processes import measure_processes

__all__ = ["LEARNERS", "measure", "measure_disturbances", "measure_large_record", "measure_processes"]
