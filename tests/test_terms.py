"""Numbers as they stand in a sentence."""

import pytest

from explorer.views.numerals import number


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [
        (112.4, 3, "112"), (-112.4, 3, "−112"), (99.96, 3, "100"), (1.672, 4, "1.672"), (0.5, 3, "0.500"),
        (4.167e-5, 4, "4.167e−5"), (0.0, 4, "0"), (float("-inf"), 4, "−∞"),
    ],
)  # fmt: skip
def test_a_number_has_its_digits_a_true_minus_and_no_bare_point(value, digits, written):
    assert number(value, digits) == written
