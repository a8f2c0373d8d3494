"""The table for a terminal."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from rich.console import Console

from mccpo.evaluation import Curves
from mccpo.report.tables.cells import measured_text
from mccpo.report.tables.metrics import executed_metrics
from mccpo.report.tables.text import table
from mccpo.runs.results import Results


def printed(raw: dict[str, Any], width: int = 100) -> str:
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(table(Results.parse(raw)))
    return captured.get()


def test_every_shape_fits_into_100_columns(example: tuple[dict[str, Any], Curves | dict[str, Curves] | None]) -> None:
    text = printed(example[0])
    assert max(len(line) for line in text.splitlines()) <= 100
    for setting in Results.parse(example[0]).settings:
        for cells in setting.rows.values():
            for metric in set(executed_metrics(setting)) & cells.keys():
                whole = measured_text(metric, cells[metric], tight=True)
                assert all(part in text for part in whole.split("±")), f"{whole} is broken over two lines"


def test_ours_the_papers_the_verdict_and_the_optimum_are_in_words(beside_paper: dict[str, Any]) -> None:
    text = printed(beside_paper)
    assert "3.538±0.553" in text
    assert "better" in text
    line = next(line for line in text.splitlines() if line.split()[:1] == ["Return"])
    assert line.split()[1] == "3.6758"
    assert "c4 ≤ 2.4505" in text
    assert "differs: mc-cpo J(c4): the budget is another" in text


def test_a_number_that_the_environment_was_fitted_to_says_so(beside_paper: dict[str, Any]) -> None:
    raw = {**beside_paper, "fitted": {"mc-cpo": ["return"]}}
    assert "fitted" in printed(raw)
    assert "fitted" not in printed(beside_paper)
    setting = Results.parse(Results.parse(raw).as_json()).settings[0]
    assert setting.fitted == {"mc-cpo": ("return",)}
    assert setting.verdict_words("mc-cpo", "return").endswith(", fitted")
    assert not setting.verdict_words("mc-cpo", "J_c4").endswith(", fitted")


def test_without_a_paper_there_are_no_lines_for_it(beside_paper: dict[str, Any]) -> None:
    text = printed({**beside_paper, "paper": {}, "verdicts": {}, "optimum": None})
    assert not {"paper", "verdict", "optimum"} & set(text.split())


def test_a_name_that_looks_like_markup_is_shown_as_it_is(beside_paper: dict[str, Any]) -> None:
    rows = {"[red]x[/red]": beside_paper["rows"]["mc-cpo"]}
    assert "[red]x[/red]" in printed({"table": "t", "title": "[bold]", "rows": rows})


def test_what_cannot_be_met_and_what_is_certified_is_told(tutor: dict[str, Any]) -> None:
    lines = printed(tutor, width=200).splitlines()
    assert lines[1].startswith("infeasible at κ=0.3: no policy meets c3 ≤ 5.71; raise all budgets")
    assert any(line.startswith("certificate failed: it cannot be said with 95 % confidence") for line in lines)


def test_levels_of_noise_are_rows(tutor: dict[str, Any]) -> None:
    lines = [" ".join(line.split()) for line in printed(tutor).splitlines()]
    assert "sigma 0 33.40 0 % 100 %" in lines
    assert "delay 0.1 33.00 2 % 90 %" in lines


def test_calibrated_gates_are_rows_of_their_part(tutor: dict[str, Any]) -> None:
    lines = [" ".join(line.split()) for line in printed(tutor).splitlines()]
    assert "tutor-15 κ=0.9, MC-CPO: gates that calibrated themselves" in lines
    assert "bias 0.1 0.05 0.2, 0 ✓ 1/70 3 30.00 −20 10 1.25/1.50 50/0" in lines
    assert "sigma 0.2 0.01 shut ✗ 0.2/70 1.2 30.00 −20 10 1.25/1.50 50/0" in lines


def test_many_settings_print_the_first(tutor: dict[str, Any]) -> None:
    raw = {"table": "t", "settings": {f"σ={level}": {"rows": tutor["rows"]} for level in range(6)}}
    text = printed(raw)
    assert "σ=3" in text
    assert "σ=4" not in text.partition("\n\n")[2]
    assert "2 more settings are in the report and in results.json" in text


def test_the_table_does_not_load_what_draws() -> None:
    probe = "import sys, mccpo.report.tables.text, mccpo.evaluation; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_short_names_are_explained_below_the_tables(beside_paper: dict[str, Any]) -> None:
    text = " ".join(printed(beside_paper).split())
    assert "Return: engagement" in text
    assert "J(c4): cost of c4" in text


def test_methods_that_were_made_for_several_levels_have_a_line_at_each(beside_paper: dict[str, Any]) -> None:
    point = {"return": 30.0, "learning": 1.25, "dK": 2.5, "satisfaction_strict": 0.5}
    swept = [{"floor": 0.4, **point}, {"floor": 0.8, **point, "return": 27.0}]
    text = printed({**beside_paper, "fronts": {"mc-cpo": swept, "unconstrained": swept[:1]}})
    lines = [line.split() for line in text.splitlines() if line.strip().startswith("floor 0.")]
    assert lines == [
        ["floor", "0.4", "mc-cpo", "30", "1.25", "2.5", "50", "%"],
        ["floor", "0.8", "mc-cpo", "27", "1.25", "2.5", "50", "%"],
    ]
    assert "at each level" not in printed({**beside_paper, "fronts": {"mc-cpo": swept[:1]}})
