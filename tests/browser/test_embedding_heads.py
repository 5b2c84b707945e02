"""The pages on embeddings and heads in a real browser: what is clicked comes into focus everywhere."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

TEXT = "The dog saw the cat and the cat saw a dog."


def settled(page):
    expect(page.get_by_text("torch.nn").first).to_be_visible(timeout=60_000)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached(timeout=60_000)


def asked(page, name: str, value: str) -> None:
    """Wait until the address says so."""
    page.wait_for_function(
        "([name, value]) => new URLSearchParams(location.search).get(name) === value", arg=[name, value]
    )
    settled(page)
    assert parse_qs(urlsplit(page.url).query)[name] == [value]


def test_a_token_and_a_number_can_be_followed(page, address):
    page.goto(f"{address}/embedding?lang=en&arch=decoder&s={TEXT}")
    settled(page)
    page.get_by_role("button", name="·dog").first.click()
    asked(page, "at", "2")
    expect(page.get_by_role("heading", name="From number to vector: ·dog")).to_be_visible()
    strip = page.locator(".stage").nth(2)  # the third step: the positions
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    page.mouse.click(box["x"] + 60, box["y"] + 9)
    expect(page.get_by_text(re.compile(r"^decoder\.embedding\.positions\[2, \d+\]$")).first).to_be_visible()
    settled(page)
    page.wait_for_function("location.search.includes('cell=positions')")


def test_a_token_on_the_map_is_chosen_by_a_click(page, address):
    page.goto(f"{address}/embedding?lang=en&arch=decoder&s={TEXT}&at=1")
    settled(page)
    marks = page.locator(".mark-symbol.role-mark path[aria-roledescription=circle]")
    marks.first.wait_for(state="attached")
    marks.nth(marks.count() - 3).scroll_into_view_if_needed()
    before = page.url
    marks.nth(marks.count() - 3).click(force=True)
    page.wait_for_function("before => location.href !== before", arg=before)
    assert re.search(r"[?&]at=\d+", page.url)


@pytest.mark.parametrize("architecture", ["encoder", "decoder", "encoder-decoder"])
def test_a_head_is_chosen_in_the_grids_and_in_the_maps(page, address, architecture):
    page.goto(f"{address}/heads?lang=en&arch={architecture}&s={TEXT}")
    settled(page)
    grids = page.locator(".map")
    grids.first.locator(".cell").nth(6).click()  # the second row of four heads: head 2
    asked(page, "head", "2")
    if architecture == "encoder-decoder":
        asked(page, "attention", "encoder.self")
    asked(page, "layer", "1")
    expect(page.get_by_text(re.compile("^Layer 1, head 2")).first).to_be_visible()
    maps = page.locator(".stage").first
    maps.scroll_into_view_if_needed()
    maps.focus()
    for key in ("ArrowDown", "PageDown", "Enter"):
        page.keyboard.press(key)
    expect(
        page.get_by_text(re.compile(r"^\w+\.layers\.1\.self_attention\.weights\[\d, \d+, \d+\]$")).first
    ).to_be_visible()
    page.get_by_role("radio", name="lines").click()
    asked(page, "drawn", "lines")
    expect(page.get_by_text(re.compile("Links under")).first).to_be_visible()


def test_another_layer_brings_its_numbers_and_no_script_once_more(page, address):
    received = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    page.goto(f"{address}/heads?lang=en&arch=decoder&s={TEXT}")
    settled(page)
    received.clear()
    page.get_by_test_id("stSidebar").get_by_role("radio", name="2", exact=True).last.click()
    asked(page, "layer", "2")
    assert 10_000 < sum(received) < 120_000, sum(received)
