"""`mccpo pretrain`: the policy for any curriculum, trained again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note


def pretrain(
    *,
    out: Annotated[Path, Parameter(help="The file to write, such as pretrained.safetensors.")],
    steps: Annotated[WholeNumber, Parameter(help="Training steps; by default as many as for the package's file.")]
    | None = None,
    seed: Annotated[WholeNumber, Parameter(help="The root of all random numbers.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Train the policy for any curriculum (the method `pretrained`) on problems that are drawn at random.

    The default steps and seed make the file that comes with the package again. See docs/pretrained.md.
    """
    import time

    from mccpo.methods.pretrained import PretrainingPlan, pretrain, write_parameters

    plan = PretrainingPlan(seed=seed) if steps is None else PretrainingPlan(steps, seed)
    total, begun = sum(iterations for _, iterations in plan.courses), time.perf_counter()

    def after(done: int, progress: object) -> None:
        del progress
        if done % max(total // 20, 1) == 0 or done == total:
            note(f"{done / total:.0%} ({time.perf_counter() - begun:.0f} s)")

    write_parameters(out, pretrain(plan, after))
    seconds = time.perf_counter() - begun
    document = {"file": str(out), "steps": plan.played, "seed": seed, "seconds": seconds}
    emit(document, as_json=json, text=lambda: f"{out}: {document['steps']:,} steps in {seconds:.0f} s")
