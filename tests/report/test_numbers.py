"""Numbers as people read them."""

from __future__ import annotations

import pytest

from mccpo.report import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1e-17, "0"),
        (3.6758, "3.676"),
        (-0.5, "−0.500"),
        (34.638, "34.64"),
        (0.0004, "0.0004"),
        (12_345.6, "12,346"),
        (2.45e6, "2.45×10⁶"),
        (999_999.0, "1.00×10⁶"),
        (3.2e-7, "3.20×10⁻⁷"),
    ],
)
def test_one_number(value: float, text: str) -> None:
    assert numbers.number(value) == text


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (3.671, 0.002, "3.671 ± 0.002"),
        (2.45e6, 2.58e6, "(2.45 ± 2.58)×10⁶"),
        (34.638, 0.37, "34.64 ± 0.37"),
        (34.638, 0.0004, "34.6380 ± 0.0004"),
        (0.0005, 0.0006, "0.0005 ± 0.0006"),
        (2.941, 0.0, "2.941 ± 0"),
        (2.941, 9.6e-8, "2.941 ± 1×10⁻⁷"),
        (-0.0001, 0.5, "0.000 ± 0.500"),
        (0.0, 0.0, "0 ± 0"),
        (9.69, None, "9.690"),
    ],
)
def test_a_mean_with_its_spread(mean: float, std: float | None, text: str) -> None:
    assert numbers.with_spread(mean, std) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "100 %"), (0.99999, "99.9 %"), (0.8, "80 %"), (1.034, "103.4 %"), (0.0, "0 %"), (-0.5, "−50 %")],
)
def test_a_share_below_one_never_reads_as_all(value: float, text: str) -> None:
    assert numbers.share(value) == text


def test_probabilities_exact_numbers_and_counts() -> None:
    assert [numbers.p_value(p) for p in (0.5, 3.2e-9, 0.0)] == ["0.500", "3×10⁻⁹", "< 10⁻³⁰⁰"]
    assert [numbers.short(value) for value in (2.450497, 0.5, 0.0, 1.2e-16)] == ["2.4505", "0.5", "0", "0"]
    assert numbers.exact(3.14159265) == "3.14159"
    assert numbers.exact(4.901e6) == "4,901,000"
    assert numbers.of_seeds((1.0, 0.0, 1.0)) == "2/3"
    assert numbers.of_seeds((0.5, 1.0)) is None
