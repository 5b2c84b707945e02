"""The scales can be told apart by everybody: in lightness alone, and as eyes see them that lack one kind of cone.

The three matrices simulate complete dichromacy in linear RGB (Machado, Oliveira and Fernandes 2009). Differences are
Euclidean in CIELAB; 2.3 is just noticeable.
"""

import re
import tomllib
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
SCRIPT = (ROOT / "explorer" / "views" / "components" / "colours.js").read_text(encoding="utf-8")
EYES = {
    "all cones": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
D65 = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]


def lab(colours: list[str], eyes: str) -> np.ndarray:
    """Colours such as `#1F66B8` as those eyes see them: lightness of 0 to 100, and two axes of hue."""
    rgb = np.array([[int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(EYES[eyes]).T, 0, 1)
    xyz = seen @ np.array(D65).T / np.sum(D65, axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def apart(colours: list[str], eyes: str) -> dict[tuple[str, str], float]:
    """How far each two colours are from each other."""
    seen = lab(colours, eyes)
    return {
        (colours[i], colours[j]): float(np.linalg.norm(seen[i] - seen[j]))
        for i, j in combinations(range(len(colours)), 2)
    }


def scripts(theme: str) -> dict[str, list[str]]:
    """The scales that the pictures use, by name."""
    part = re.search(rf"const {theme.upper()} = {{(.*?)}};", SCRIPT, re.DOTALL)[1]
    return {name: colours.split() for name, colours in re.findall(r'(\w+): stops\("(.*?)"\)', part)}


@pytest.fixture(params=["light", "dark"])
def theme(request):
    return request.param


def test_pictures_and_charts_use_the_same_scales(theme):
    drawn = scripts(theme)
    assert drawn["weight"] == THEME[theme]["chartSequentialColors"]
    assert drawn["below"][::-1] + drawn["above"] == THEME[theme]["chartDivergingColors"]


@pytest.mark.parametrize("eyes", EYES)
def test_more_is_further_from_the_ground_in_lightness(theme, eyes):
    for colours in scripts(theme).values():
        lightness = lab([THEME[theme]["backgroundColor"], *colours], eyes)[:, 0]
        steps = [after - before for before, after in pairwise(lightness)]
        assert all(step * steps[-1] > 0 for step in steps)  # it never turns back
        assert all(abs(step) > 3 for step in steps[1:])


@pytest.mark.parametrize("eyes", EYES)
def test_plus_and_minus_are_told_apart(theme, eyes):
    drawn = scripts(theme)
    for place, (below, above) in enumerate(zip(drawn["below"], drawn["above"], strict=True)):
        found = apart([below, above], eyes)[below, above]
        assert found > (20 if place else 7)


@pytest.mark.parametrize("eyes", EYES)
def test_kinds_are_told_apart(theme, eyes):
    """Lines of a chart; and queries, keys and values, which besides have their letter."""
    roles = [THEME[theme][f"{name}Color"] for name in ("blue", "orange", "green")]
    for colours in (THEME[theme]["chartCategoricalColors"], roles):
        found = apart(colours, eyes)
        assert min(found.values()) > 12
