"""Every method on every environment, under the same budgets, steps and search: see `mccpo benchmark`.

protocol.py      what is the same for all: κ, seeds, steps, search, time limit
methods.py       who takes part, by name; other packages add theirs by entry points
suites.py        where, by name; all of them are in the registry of `mccpo.env`
posing.py        an environment with what its budgets refer to and, where it is finite, the optimum under them
trial.py         one method on one environment: searched, trained, judged; a failure is an outcome
judging.py       what policies are worth, exactly or by episodes of their own
rows.py          what came out as a table: a row for each environment, method, κ and seed
results.py       what the rows say: cells, hypervolumes, aggregates, winners
suite.py         all of it, pair by pair, into a folder that can be resumed
outside.py       agents of other packages, through the Gymnasium adapter
"""
