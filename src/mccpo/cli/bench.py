"""`mccpo bench`: the speed figures."""

from __future__ import annotations

from typing import Any, Literal

from mccpo.cli.output import JsonFlag, emit
from mccpo.cli.progress import progress


def bench(what: Literal["tabular"], /, *, json: JsonFlag = False) -> None:
    """Measure the speed, side by side with a plain implementation in one run.

    Parameters
    ----------
    what
        tabular: the gate's and the chain's table in full (ten seeds, five methods, all episodes).
    """
    from mccpo.experiments import Session, bench_tabular

    del what  # one bench so far
    with progress() as show:
        found = bench_tabular.measure(Session(progress=show))
    emit(found, as_json=json, text=lambda: _text(found))


def _text(found: dict[str, Any]) -> str:
    lines = [f"{'table':<8}{'seconds':>10}{'of it compiling':>18}{'episodes/s':>14}{'NumPy episodes/s':>19}"]
    lines += [
        f"{name:<8}{table['seconds']:>10.1f}{table['compile_seconds']:>18.1f}{table['episodes_per_second']:>14,.0f}"
        f"{table['plain_episodes_per_second']:>19,.0f}"
        for name, table in found["tables"].items()
    ]
    lines.append(
        f"both tables in {found['seconds']:.1f} s on {found['cores']} cores; a plain NumPy loop on one core would take "
        f"{found['plain_seconds']:.0f} s: {found['ratio']:.1f} times, {found['ratio_per_core']:.1f} times per core"
    )
    return "\n".join(lines)
