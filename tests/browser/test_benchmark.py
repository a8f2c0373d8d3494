"""The report of a benchmark in a real Chromium: its tables sort by click and by keyboard, and nothing is too wide."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from mccpo.report.benchmark.page import write

from ..report.benchmark_folder import made_up  # noqa: TID252 - the same benchmark is looked at


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return write(made_up(tmp_path_factory.mktemp("benchmark"))).as_uri()


def keys(page, column):
    found = page.locator(f"#on-chain table.place tbody tr > :nth-child({column})")
    return found.evaluate_all("cells => cells.map(cell => cell.dataset.sort)")


def test_the_page_fits(page, address):
    page.goto(address)
    expect(page.locator("h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_click_sorts_and_another_turns_it_round(page, address):
    page.goto(address)
    head = page.locator("#on-chain table.place th[scope=col]").nth(4)  # returns, of which the largest break budgets
    before = [float(key) for key in keys(page, 5)]
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    down = [float(key) for key in keys(page, 5)]
    assert down == sorted(before, reverse=True) != before
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert [float(key) for key in keys(page, 5)] == sorted(before)
    assert page.locator("#on-chain table.place th[aria-sort]").count() == 1


def test_the_keyboard_sorts_and_what_has_no_value_stays_last(page, address):
    page.goto(address)
    head = page.locator("#on-tutor-15 table.place th[scope=col]").nth(3)
    for press in ("Enter", "Space"):
        head.get_by_role("button").focus()
        page.keyboard.press(press)
        column = page.locator("#on-tutor-15 table.place tbody tr > :nth-child(4)")
        found = column.evaluate_all("cells => cells.map(cell => cell.dataset.sort)")
        assert "" in found
        assert all(key == "" for key in found[found.index("") :])


def test_names_sort_by_the_alphabet(page, address):
    page.goto(address)
    page.locator("#on-chain table.place th[scope=col]").first.get_by_role("button").click()
    names = keys(page, 1)
    assert names == sorted(names, key=str.lower)
