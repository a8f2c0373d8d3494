"""Runs commands of mccpo in one process, so that they share what is compiled; tells how each ended.

It takes a JSON object of calls by name on stdin, and prints one of their exit codes and of what they printed. The
policies of trainings so short are chosen and judged by a few episodes, because many take longer than the training, and
only the first report has its figures.
"""

import contextlib
import io
import json
import sys

from mccpo.cli import main
from mccpo.experiments import anchors, finite, measuring, problem
from mccpo.methods.gradient import training
from mccpo.report.page import html


def run(tokens: list[str]) -> dict[str, object]:
    """One call, and how it ended."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(tokens)
    return {"code": code or 0, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    training.LEAST_FINAL = 32
    anchors.PLANNED_EPISODES = 4
    for module in (anchors, finite, measuring, problem):
        module.EVALUATION_EPISODES = 200
    ended = {}
    for name, tokens in json.load(sys.stdin).items():
        ended[name] = run(tokens)
        html.galleries = lambda *_: []
        html.opening = lambda *_: None
    sys.stdout.write(json.dumps(ended))
