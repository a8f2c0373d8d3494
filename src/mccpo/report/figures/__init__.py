"""The figures of a run's report."""
