"""Results for people: tables in the terminal, and one HTML file with tables and figures that opens offline.

- `mccpo.report.page.write_report` writes the HTML file, and is what draws figures;
- `mccpo.report.tables.table` gives the table for a terminal, without loading anything that draws;
- `mccpo.runs.results.Results` is what both are made from, `mccpo.evaluation.Curves` what was measured in training.

Import from these packages: this one itself loads nothing, so that a command that only prints stays quick.
"""
