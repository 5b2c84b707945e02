"""The table of one attention's steps in a real browser: numbers, clicks, keys, a narrow window."""

import re

import pytest

from tests.browser.test_app import settled

SENTENCE = "The+cat+sat+on+the+mat."


def opened(page, address, **asked):
    query = "&".join(f"{name}={value}" for name, value in {"lang": "en", "s": SENTENCE, **asked}.items())
    page.goto(f"{address}/attention?{query}")
    page.locator(".frame .chip").first.wait_for(timeout=60_000)
    settled(page)  # what comes above may still move the table
    return page.locator(".frame .sheet")


def panel(page, path):
    """Wait until the arithmetic of a cell is open."""
    page.locator("[class*=st-key-arithmetic-] code").filter(has_text=re.compile(path)).wait_for()


def test_a_click_opens_the_arithmetic_of_the_number_in_the_table(page, address):
    sheet = opened(page, address, arch="decoder", at=4)
    box = sheet.bounding_box()
    spot = box["x"] + 480, box["y"] + 86 + 2 * 28 + 8  # the raw score of the third key
    page.mouse.move(*spot)
    tip = page.locator(".frame + .tip.on")
    tip.wait_for()
    assert "raw_scores[0, 4, 2]" in tip.inner_text()
    seen = float(re.findall(r"−?\d+\.\d{4}", tip.inner_text())[-1].replace("−", "-"))
    page.mouse.click(*spot)
    panel(page, r"self_attention\.raw_scores\[0, 4, 2\]")
    result = page.locator("[class*=st-key-result] strong").inner_text().replace("−", "-")
    assert float(result) == pytest.approx(seen, abs=1e-3 * max(1, abs(seen)))
    page.wait_for_function("() => location.search.includes('step=raw_scores%2C2')")
    # the strips: a key's numbers, then the keyboard
    settled(page)
    box = sheet.bounding_box()
    page.mouse.click(box["x"] + 162 + 10, box["y"] + 86 + 8)
    panel(page, r"self_attention\.keys\[0, 0, 2\]")
    page.locator(".frame").focus()
    page.keyboard.press("ArrowRight")
    assert "keys[0, 0, 3]" in page.locator(".frame + .tip.on").inner_text()
    # a token of the table becomes the query; later ones are masked
    sheet.locator(".chip.pick").nth(2).click()
    page.wait_for_function("() => location.search.includes('at=2')")
    sheet.get_by_text("−∞").nth(5).wait_for()


def test_another_query_in_cross_attention_on_a_phone(page, address):
    page.set_viewport_size({"width": 390, "height": 800})
    sheet = opened(page, address, arch="encoder-decoder", attention="decoder.cross", t="a+b+c", at=1)
    frame = page.locator(".frame")
    assert frame.evaluate("frame => frame.scrollWidth > frame.clientWidth + 300")
    frame.evaluate("frame => { frame.scrollLeft = 500; }")
    chip = sheet.locator(".chip").first.bounding_box()
    assert 0 <= chip["x"] < 40  # the tokens stay where they are
    frame.evaluate("frame => { frame.scrollLeft = 200; }")
    sheet.get_by_role("button", name="The next query").click()
    page.wait_for_function("() => location.search.includes('at=2')")
    panel(page, r"cross_attention\.raw_scores\[0, 2, \d+\]")


def test_an_encoder_masks_nothing(page, address):
    sheet = opened(page, address, arch="encoder")
    assert "all allowed" in sheet.inner_text() and "−∞" not in sheet.inner_text()
