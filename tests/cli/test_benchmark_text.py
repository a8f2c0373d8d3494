"""The tables of a benchmark in a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from mccpo.cli.commands.benchmark.text import tables

STRICT, SHARE = {"mean": 1.0, "per_seed": [1.0]}, {"mean": 0.98, "per_seed": [0.98]}


def shown(hypervolumes: list[float], **more: Any) -> str:
    """A method of one cell, of which one seed is done and meets its budgets."""
    cell = {
        "environment": "gate", "method": "cpo", "kappa": 0.7, "status": "done", "why": "", "seconds": 1.0,
        "return": {"mean": 0.86}, "satisfaction_strict": STRICT, "optimum_share": SHARE,
    }  # fmt: skip
    results: dict[str, Any] = {
        "protocol": {"seeds": 2},
        "environments": {"gate": {"finite": True}},
        "cells": [cell],
        "hypervolume": {"gate": {"cpo": {"mean": 0.3, "per_seed": hypervolumes}}},
    }
    results |= more
    console = Console(width=120)
    with console.capture() as caught:
        for table in tables(results):
            console.print(table)
    return caught.get()


def test_a_seed_that_came_to_nothing_has_not_met_its_budgets():
    told = shown([0.6, 0.0])
    assert "0.86 (1/2)" in told
    assert "98.0 %" not in told  # of the optimum where every seed meets the budgets


def test_seeds_are_counted_as_the_method_has_them():
    told = shown([0.6])  # an outside agent of one seed, in a benchmark of two
    assert "0.86 (1/1)" in told
    assert "98.0 %" in told


def test_what_was_kept_has_a_column_of_its_own():
    told = shown([0.6], kept={"gate": {"cpo": {"mean": 0.123}}}).splitlines()
    assert any("hypervolume" in line and "kept" in line for line in told)
    assert any("0.300" in line and "0.123" in line for line in told)
    assert "kept" in shown([0.6])  # as older results have it, which do not say how much


def test_what_nobody_met_is_said_below_the_table():
    winners = {"unmet": [0.5], "reachable_methods": ["cpo"]}
    told = " ".join(shown([0.6], winners={"gate": winners}).split())
    assert "nobody met κ = 0.5 in any of its seeds; best of those that always meet the rest: cpo" in told
    assert "nobody" not in shown([0.6], winners={"gate": winners | {"unmet": []}})
    assert "nobody" not in shown([0.6], winners={"gate": {"safe_methods": []}})  # as older results have it
