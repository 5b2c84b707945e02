"""The page of generation in a real browser: write, look at what was passed over, branch, and follow the pass."""

from pathlib import Path
from urllib.parse import urlencode

import pytest

ROOT = Path(__file__).parents[2]
ADDRESS = {"lang": "en", "arch": "decoder", "s": "Once upon a time"}


@pytest.fixture(scope="module")
def address(server):
    return server(ROOT / "app.py")


def test_write_branch_and_open_the_pass(page, address):
    page.goto(f"{address}/generation?{urlencode(ADDRESS)}")
    page.get_by_role("button", name="One token").click()
    page.get_by_text("1 token written so far").wait_for()
    written = page.locator("button.chip.written")
    first = written.inner_text()
    page.locator("tr:not(.now) button.chip").first.click()
    page.get_by_text("1 token chosen by hand").wait_for()
    page.wait_for_function("location.search.includes('hand=')")
    assert written.inner_text() != first
    page.get_by_role("button", name="Open the whole pass").click()
    page.get_by_role("heading", name="One forward pass").wait_for()
    page.wait_for_function("s => document.querySelector('textarea').value.startsWith(s)", arg=ADDRESS["s"])


def test_the_tree_stands_in_its_frame(page, address):
    translating = {"lang": "ko", "arch": "encoder-decoder", "s": "The cat.", "how": "beam"}
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/generation?{urlencode(translating)}")
    page.locator(".tree .chip.best").first.wait_for()
    box = page.locator(".frame:has(.tree)").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.locator(".tree path.best").count() == page.locator(".tree .chip.best").count() - 1
