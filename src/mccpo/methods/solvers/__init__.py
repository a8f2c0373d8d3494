"""Methods that compute a policy from the arrays of a finite environment, which those that learn are not given."""

from mccpo.methods.solvers import lyapunov_lp

__all__ = ["lyapunov_lp"]
