"""The picture of the whole pass in a real Chromium: pointing, clicking, walking, links, sizes, themes, languages."""

import re

import pytest
import torch
from playwright.sync_api import expect

from explorer import checkpoints
from explorer.config import ARCHITECTURES, MASK, NORMS
from explorer.reader import FIRST_TEXT
from explorer.tokens import Tokenizer
from explorer.trace import trace
from explorer.views.components import stave
from explorer.views.components import stave_layout as layout
from explorer.words import Words
from tests.browser.test_app import query, settled

TEXT = FIRST_TEXT["en"]
LONG = "One day a little girl went to the park with her dog. They saw a big red ball under the old tree and got wet."
RECEIVED = 300_000  # bytes over the socket for a new sentence of 32 tokens


@pytest.fixture(scope="module")
def shown() -> layout.View:
    """What the page shows at first: layer 0 of the decoder, the last token in focus."""
    tokenizer = Tokenizer.load(checkpoints.TOKENIZER)
    tokens = tokenizer.decoder_input(TEXT)
    found = trace(checkpoints.load("decoder-pre-4"), target=torch.tensor([token.id for token in tokens]))
    return stave.view(
        found, {"decoder": tokens}, Words("en"), tokenizer.token, layer=0, focus=len(tokens) - 1, masked=MASK
    )


def begin(page, address: str, more: str = "") -> None:
    page.goto(f"{address}/?lang=en{more}")
    expect(page.locator(".stage svg.over g.own").first).to_be_attached()
    settled(page)


def item(shown: layout.View, kind: str, path: str | None = None, **more) -> dict:
    return next(
        item
        for item in stave.wide(shown).items
        if item["kind"] == kind and path in (None, item.get("p")) and more.items() <= item.items()
    )


def place(page, x: float, y: float) -> tuple[float, float]:
    """A point of the picture on the screen."""
    box = page.locator(".stage").bounding_box()
    scale = box["width"] / layout.WIDTH
    return box["x"] + x * scale, box["y"] + y * scale


def written(number: float) -> str:
    text = f"{abs(number):.3f}"
    return f"−{text}" if number < 0 and float(text) else text


def test_pointing_tells_the_number_and_rings_the_inputs_without_a_round_trip(address, page, shown):
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    begin(page, address)
    before = len(sent)
    tip = page.locator(".tip")

    path = "decoder.layers.0.self_attention.weights"
    maps = item(shown, "maps", path)
    page.mouse.move(*place(page, maps["x"] + 2.5 * maps["cell"], maps["y"] + 5.5 * maps["cell"]))
    expect(tip).to_have_class(re.compile("on"))
    expect(tip).to_contain_text(path)
    expect(tip).to_contain_text("head 0")
    expect(tip.locator(".value b")).to_have_text(written(shown.trace[path].tensor[0, 5, 2].item()))
    expect(tip.locator(".formula .frac")).to_be_visible()

    path = "decoder.layers.0.self_attention_residual.sum"
    strip = item(shown, "strip", path)
    page.mouse.move(*place(page, strip["x"] + 1, strip["ys"][3]))
    expect(tip).to_contain_text(path)
    vector = shown.trace[path].tensor[3]
    largest = vector[: len(vector) // strip["cols"]]
    expect(tip.locator(".value b")).to_have_text(written(largest[largest.abs().argmax()].item()))
    rings = page.locator("svg.over .rings rect")
    assert rings.count() >= 3  # itself, the stream before, what attention found
    assert len(sent) == before

    page.mouse.move(*place(page, 500, 2))
    expect(tip).not_to_have_class(re.compile(r"\bon\b"))


def test_a_click_on_a_token_a_layer_a_value(address, page, shown):
    begin(page, address)
    chip = item(shown, "chip", "decoder.embedding.ids", position=3)
    page.mouse.click(*place(page, chip["x"] + 20, chip["y"] + 8))
    page.wait_for_function("new URL(location).searchParams.get('at') === '3'")
    settled(page)
    expect(page.locator(".stage")).to_contain_text("layer 0, opened")

    tag = item(shown, "layer", layer=2)
    page.mouse.click(*place(page, tag["x"] + 20, tag["y"] + 4))
    expect(page.locator(".stage")).to_contain_text("layer 2, opened")
    page.wait_for_function("new URL(location).searchParams.get('layer') === '2'")
    settled(page)
    assert query(page)["at"] == "3"

    begin(page, address)
    path = "decoder.layers.0.self_attention.queries"
    plate = item(shown, "plate", path)
    page.mouse.click(*place(page, plate["x"] + 4, plate["y"] + 4))
    page.wait_for_function(f"new URL(location).searchParams.get('v') === '{path}'")
    page.wait_for_function("location.pathname.includes('/values')")
    head, row, _ = map(int, query(page)["c"].split(","))
    assert (head, row) == (0, 0)


def test_a_walk_visits_every_value_once_in_order(address, page, shown):
    begin(page, address)
    order = list(shown.trace)
    page.get_by_role("button", name="One step on").focus()
    for number, path in enumerate(order, 1):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".bar .count")).to_have_text(f"step {number} of {len(order)}")
        name = page.locator(".say .words b").text_content()
        assert name.lower() == stave.glossary.entry(path, shown.trace).name["en"].lower()
    page.wait_for_function(f"new URL(location).searchParams.get('step') === '{order[-1]}'")
    expect(page.locator(".stage")).to_contain_text("layer 3, opened")
    page.get_by_role("button", name="One step back").click()
    expect(page.locator(".bar .count")).to_have_text(f"step {len(order) - 1} of {len(order)}")
    page.get_by_role("button", name="Whole pass").click()
    page.wait_for_function("!new URL(location).searchParams.has('step')")


def test_a_link_to_a_step_shows_it_in_its_layer(address, page):
    path = "decoder.layers.2.feed_forward.hidden"
    begin(page, address, f"&arch=decoder&step={path}")
    expect(page.locator(".stage")).to_contain_text("layer 2, opened")
    expect(page.locator(".say")).to_contain_text("Hidden")
    assert query(page)["step"] == path
    later = page.locator("svg.over g.own.later")
    assert 0 < later.count() < page.locator("svg.over g.own").count()


def test_play_goes_on_by_itself_and_stops(address, page):
    begin(page, address)
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".bar .count")).to_have_text(re.compile("step 3 of"))
    page.get_by_role("button", name="Pause").click()
    stands = page.locator(".bar .count").text_content()
    page.wait_for_timeout(1600)
    assert page.locator(".bar .count").text_content() == stands


def test_the_picture_can_be_walked_by_key_and_is_read_out(address, page):
    begin(page, address)
    stage = page.locator(".stage")
    assert stage.get_attribute("role") == "img" and "13 tokens" in stage.get_attribute("aria-label")
    stage.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator(".tip")).to_have_class(re.compile("on"))
    expect(page.locator(".live")).to_have_text(re.compile("embedding", re.IGNORECASE))
    page.keyboard.press("Escape")
    expect(page.locator(".tip")).not_to_have_class(re.compile(r"\bon\b"))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("location.pathname === '/values'")


def test_a_narrow_window_turns_the_picture_upright(address, page):
    begin(page, address)
    stage, ratio = page.locator(".stage"), "stage => stage.offsetHeight / stage.offsetWidth"
    assert stage.evaluate(ratio) < 1
    for width in (1000, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(300)
        expect(page.locator(".stage svg.over g.own").first).to_be_attached()
    expect(page.locator(".stave.narrow")).to_be_attached()
    assert stage.evaluate(ratio) > 3
    assert page.evaluate("document.documentElement.scrollWidth <= 390")
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.locator(".stave.narrow")).to_have_count(0)


def test_twelve_tokens_need_no_scrolling(address, page):
    begin(page, address, "&arch=decoder&s=The+cat+sat+on+the+chair+because+it+was+so.")
    box = page.locator(".stage").bounding_box()
    assert box["y"] + box["height"] <= 900
    assert box["x"] + box["width"] <= 1440


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_model_in_both_languages_and_themes(address, page, architecture):
    for norm in NORMS:
        for language in ("en", "ko"):
            page.goto(f"{address}/?lang={language}&arch={architecture}&norm={norm}&layer=1")
            expect(page.locator(".stage svg.over g.own").first).to_be_attached()
            settled(page)
            expect(page.locator(".stage")).to_contain_text("layer 1, opened" if language == "en" else "층 1, 펼침")
            expect(page.locator(".stException")).to_have_count(0)
    colour = "e => getComputedStyle(e).fill"
    light = page.locator(".stage svg.over text").first.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(600)
    assert page.locator(".stage svg.over text").first.evaluate(colour) != light


def test_odd_texts_are_text(address, page):
    begin(page, address, "&arch=decoder&s=%3Cb%3Ebold%3C/b%3E%20%24x%24%20%F0%9F%98%80%20%EA%B0%81")
    expect(page.locator(".stage")).to_contain_text("<")
    expect(page.locator(".stage b")).to_have_count(0)


def test_a_new_sentence_is_a_small_message(address, page):
    received = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    begin(page, address, "&arch=decoder")
    received.clear()
    box = page.get_by_test_id("stSidebar").locator("textarea").first
    box.fill(LONG)
    box.press("Control+Enter")
    expect(page.locator(".stage")).to_contain_text("more")
    settled(page)
    assert sum(received) < RECEIVED, sum(received)
