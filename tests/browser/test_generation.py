"""The page of generation in a real browser: write, look at what was passed over, branch, and follow the pass."""

import re
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).parents[2]
ADDRESS = {"lang": "en", "arch": "decoder", "s": "Once upon a time"}


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


SLOW = """
import runpy, time
from explorer.analysis import generation

if not hasattr(generation, "unhurried"):
    generation.unhurried = generation.step

    def step(*given, **named):
        time.sleep(0.1)
        return generation.unhurried(*given, **named)

    generation.step = step
runpy.run_path({app!r}, run_name="__main__")
"""


def test_a_run_can_be_stopped_and_keeps_what_it_has(page, server, tmp_path):
    """The app with a tenth of a second for each token, so that there is time to press the button."""
    (tmp_path / "slow.py").write_text(SLOW.format(app=str(ROOT / "app.py")), encoding="utf-8")
    (tmp_path / "pages").symlink_to(ROOT / "pages")
    page.goto(f"{server(tmp_path / 'slow.py')}/generation?{urlencode(ADDRESS | {'temp': 1, 'seed': 3})}")
    tokens = page.locator(".st-key-written .chip")
    tokens.first.wait_for(timeout=60_000)  # a server of its own, and torch is imported first
    given = tokens.count()
    page.get_by_role("button", name="To the end").click()
    page.get_by_text(re.compile(r"^\d\d tokens written$")).wait_for()
    stop = page.locator(".st-key-generation-running").get_by_role("button", name="Stop")
    stop.click()
    label = page.get_by_text("stopped by you after")
    label.wait_for()
    kept = int(re.search(r"Partial: stopped by you after (\d+) tokens", label.inner_text())[1])
    assert 10 <= kept < 60
    page.wait_for_function("n => new URLSearchParams(location.search).get('halted') === String(n)", arg=kept)
    tokens.nth(given + kept - 1).wait_for()
    assert tokens.count() == given + kept
    assert stop.count() == 0
    page.reload()
    page.get_by_text(f"stopped by you after {kept} tokens").wait_for()
    page.get_by_role("button", name="One token").click()
    page.get_by_text(f"{kept + 1} tokens written so far").wait_for()
    tokens.nth(given + kept).wait_for()
