"""A training of a moment: tests that take the same sizes and the same horizon share the programs that one compiled."""

from mccpo.experiments import Options
from mccpo.methods import NeuralPlan, Sizes

PLAN = NeuralPlan(steps=1500, seeds=2, sizes=Sizes(environments=8, rollout=16, minibatch=32, epochs=1), validation=8)
HORIZON = 12


def plan(options: Options, _: str, steps: int = 300) -> NeuralPlan:
    """In the place of `Options.neural_plan`: the seeds are those asked for, the steps are few."""
    return NeuralPlan(steps, options.seeds, options.seed, PLAN.sizes, validation=PLAN.validation)
