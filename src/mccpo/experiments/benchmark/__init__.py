"""Every method on every environment, under the same budgets, steps and search: see `mccpo benchmark`.

protocol.py      what is the same for all: κ, seeds, steps, search, time limit
suites.py        where, by name; all of them are in the registry of `mccpo.env`
trial.py         one method on one environment: searched, trained, evaluated; a failure is an outcome
evaluation.py    what policies are worth, exactly or by episodes of their own
rows.py          the rows of a trial: one for each κ and seed
results.py       what the rows say: cells, hypervolumes, winners
overall.py       what they say over all environments: interquartile means, profiles
cell.py          a pair as a run: its table and its policies
pairs.py         one pair of method and environment in the benchmark's folder
jobs.py          pairs as cells of work, by several processes or on a Ray cluster
suite.py         all of it, pair by pair, into a folder that can be resumed
agent_rows.py    measurements of agents of other packages, as a file
outside.py       these agents, played through the Gymnasium adapter

The types of what comes out are in `mccpo.runs.benchmark`, which needs no jax.
"""

from mccpo.experiments.benchmark.agent_rows import AgentRow, read_agent_rows, write_agent_rows
from mccpo.experiments.benchmark.jobs import Workers
from mccpo.experiments.benchmark.outside import left_out, measure
from mccpo.experiments.benchmark.overall import ByMethod, over_environments, profiles
from mccpo.experiments.benchmark.pairs import Benchmark
from mccpo.experiments.benchmark.protocol import KAPPAS, Protocol
from mccpo.experiments.benchmark.suite import run
from mccpo.experiments.benchmark.suites import FULL, SUITES
from mccpo.experiments.benchmark.trial import Trial

__all__ = [
    "FULL",
    "KAPPAS",
    "SUITES",
    "AgentRow",
    "Benchmark",
    "ByMethod",
    "Protocol",
    "Trial",
    "Workers",
    "left_out",
    "measure",
    "over_environments",
    "profiles",
    "read_agent_rows",
    "run",
    "write_agent_rows",
]
