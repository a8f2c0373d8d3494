"""The tables of a run's report, for a page and for a terminal."""
