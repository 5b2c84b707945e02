"""A reader in a hurry: clicks and keys that do not wait for the last run, and two tabs of one browser."""

import re

import pytest
from playwright.sync_api import expect

from explorer.words import Words
from tests.browser.test_app import open_app, query, settled, turn


def radios(page, group: str):
    return page.get_by_test_id("stSidebar").get_by_role("radiogroup", name=group, exact=True).get_by_role("radio")


def ends_with(page, **last: str) -> None:
    """Wait until the address says so, the run is over, and nothing went wrong on the way."""
    page.wait_for_function(
        "last => Object.entries(last).every(([name, value]) => new URL(location).searchParams.get(name) === value)",
        arg=last,
    )
    settled(page)
    assert last.items() <= query(page).items()
    expect(page.locator(".stException")).to_have_count(0)


def test_twenty_clicks_on_layers_tokens_and_heads_end_in_the_last(address, page):
    open_app(page, address, "/feed_forward?lang=en&arch=decoder&s=The+cat+sat+on+the+mat.")
    chips = page.locator("[class*=st-key-tokens] button.chip")
    expect(chips).to_have_count(9)
    layers = radios(page, "Layer")
    expect(layers).to_have_count(4)
    for n in range(20):
        layers.nth((3, 1, 0, 2)[n % 4]).click()
    ends_with(page, layer="2")
    expect(layers.nth(2)).to_have_attribute("aria-checked", "true")
    # Each run draws the chips and the grid anew, so they are clicked as they come, in the page itself.
    for n in range(20):
        chips.nth(n % 5 + 1).dispatch_event("click")
    ends_with(page, at="5", layer="2")
    expect(chips.nth(5)).to_have_attribute("aria-pressed", "true")
    turn(page, Words("en")("page.heads"))
    grid = page.locator(".map").first.locator("button.cell")
    for n in range(20):
        grid.nth(4 * (n % 4) + n % 3).dispatch_event("click")
    ends_with(page, layer="3", head="1", at="5")
    expect(page.locator("textarea").first).to_have_value("The cat sat on the mat.")


def test_what_is_typed_while_a_run_is_on_is_what_counts(address, page):
    open_app(page, address, "/start?lang=en&arch=decoder&s=The+cat+sat.")
    box = page.locator("textarea").first
    for text in ("One dog ran.", "Two dogs ran home.", "Three dogs ran to the park."):
        box.fill(text)
        box.press("Control+Enter")
    box.fill("Four cats slept")
    radios(page, "Layer").nth(3).click()  # the sentence was not sent; leaving the box sends it
    radios(page, "Layer norm").nth(1).click()
    ends_with(page, s="Four cats slept", layer="3", norm="post")
    expect(box).to_have_value("Four cats slept")
    chips = page.locator("button.chip")
    said = [text.replace("\n", "").replace("·", " ") for text in chips.all_inner_texts()[1:]]
    assert "".join(said) == "Four cats slept"


def test_two_tabs_of_one_browser_are_two_visits(address, page):
    other = page.context.new_page()
    other.set_default_timeout(45_000)
    open_app(page, address, "/heads?lang=en&arch=decoder&s=The+cat+sat.&edit=off:d0a.h1")
    open_app(other, address, "/heads?lang=ko&arch=encoder&s=The+[MASK]+ran.")
    radios(page, "Layer").nth(2).click()
    radios(other, "층").nth(1).click()
    radios(page, "Layer norm").nth(1).click()
    ends_with(other, arch="encoder", layer="1", s="The [MASK] ran.", norm="pre", lang="ko")
    ends_with(page, arch="decoder", layer="2", s="The cat sat.", norm="post", edit="off:d0a.h1", lang="en")
    assert "edit" not in query(other)
    expect(other.get_by_test_id("stMain").locator("[class*=st-key-edits]")).to_have_count(0)
    expect(page.locator("[class*=st-key-edits]")).to_be_visible()


def labelled(page, text: str):
    """What stands under a label of the picture of the pass, as a place on the screen."""
    expect(page.locator(".stage svg.over text").first).to_be_attached()
    found = page.evaluate(
        """text => {
          const roots = [...document.querySelectorAll("*")].map((one) => one.shadowRoot);
          const stage = roots.map((root) => root?.querySelector(".stage")).find(Boolean);
          const box = (one) => one.getBoundingClientRect(), middle = (one) => box(one).x + box(one).width / 2;
          const label = [...stage.querySelectorAll("svg.over text")].find((one) => one.textContent === text);
          if (!label?.textContent.startsWith("layer")) return label && [middle(label), box(label).y + 5];
          const tags = [...stage.querySelectorAll('svg rect[rx="8"]')];
          const apart = (one) => Math.abs(middle(one) - middle(label));
          const tag = tags.reduce((best, one) => (apart(one) < apart(best) ? one : best));
          return [middle(tag), box(tag).y + box(tag).height / 2];
        }""",
        text,
    )
    assert found, text
    return found


def opened(page, layer: int) -> None:
    """The picture, the control and the address are of one layer."""
    ends_with(page, layer=str(layer))
    expect(page.locator(".stage")).to_contain_text(f"layer {layer}, opened")
    expect(radios(page, "Layer").nth(layer)).to_have_attribute("aria-checked", "true")


def test_a_click_on_a_token_right_after_one_on_a_layer_undoes_nothing(address, page):
    open_app(page, address, "/?lang=en&arch=decoder&s=The+cat+sat.")
    expect(page.locator(".stage")).to_contain_text("layer 0, opened")
    # Clicks at different moments of the run that opens the layer: before it, in it, after it.
    for layer, token, pause in (
        *((2, "·cat", 0), (1, "·sat", 120), (3, "The", 240), (0, ".", 360), (2, "The", 480)),
        *((3, "·cat", 120), (1, "·sat", 60), (2, "The", 180), (0, ".", 120), (1, "The", 90)),
    ):
        spot = labelled(page, token)
        page.mouse.click(*labelled(page, f"layer {layer}"))
        page.wait_for_timeout(pause)
        page.mouse.click(*spot)
        place = ["The", "·cat", "·sat", "."].index(token) + 1
        ends_with(page, at=str(place), layer=str(layer))
        opened(page, layer)


def test_a_click_in_the_picture_after_one_that_turned_the_page_is_no_fault(address, page):
    for pause in (0, 30, 60):
        open_app(page, address, "/?lang=en&arch=decoder&s=The+cat+sat.")
        expect(page.locator(".stage")).to_contain_text("layer 0, opened")
        value, token, layer = labelled(page, "E"), labelled(page, "·cat"), labelled(page, "layer 2")
        page.mouse.click(value[0], value[1] + 60)
        for spot in (layer, token, layer, token):
            page.wait_for_timeout(pause)
            page.mouse.click(*spot)
        page.wait_for_function("location.pathname === '/values'")
        settled(page)
        expect(page.locator(".stException")).to_have_count(0)


def test_a_walk_that_turns_round_at_a_layer_goes_on(address, page):
    last = "decoder.layers.0.feed_forward_residual.sum"
    open_app(page, address, f"/?lang=en&arch=decoder&s=The+cat+sat.&step={last}")
    count = page.locator(".bar .count")
    stands = count.text_content()
    walk = """names => {
      const roots = [...document.querySelectorAll("*")].map((one) => one.shadowRoot);
      const bar = roots.map((root) => root?.querySelector(".walk")).find(Boolean);
      for (const name of names) bar.querySelector(`button[aria-label="${name}"]`).click();
    }"""
    on, back = "One step on", "One step back"
    page.evaluate(walk, [on, back])
    page.wait_for_timeout(1000)
    opened(page, 0)
    expect(count).to_have_text(stands)
    page.evaluate(walk, [on] * 30 + [back] * 30 + [on])
    page.wait_for_timeout(1000)
    opened(page, 1)
    expect(count).to_have_text(f"step {int(stands.split()[1]) + 1} of {stands.split()[-1]}")
    radios(page, "Layer").nth(3).click()  # this ends the walk, and the address says so
    opened(page, 3)
    page.wait_for_function("!new URL(location).searchParams.has('step')")


def test_the_picture_is_quiet_when_nobody_touches_it(address, page):
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    open_app(page, address, "/?lang=en&arch=decoder&s=The+cat+sat.")
    page.mouse.click(*labelled(page, "layer 2"))
    opened(page, 2)
    page.mouse.click(*labelled(page, "·cat"))
    ends_with(page, at="2")
    page.wait_for_timeout(1500)
    before = len(sent)
    page.wait_for_timeout(2000)
    assert len(sent) == before


PAUSES = (0, 60, 120, 200)  # milliseconds between two clicks


def cell_at(stage, across: float, down: float) -> tuple[tuple[float, float], str]:
    """A place in a matrix, by its share of the width and height, and the cell that is drawn there: 0,3,1."""
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    spot = box["x"] + across * box["width"], box["y"] + down * box["height"]
    stage.page.mouse.move(*spot)
    path = stage.page.locator(".tip.on .path").inner_text()
    return spot, re.search(r"\[([\d, ]+)\]$", path)[1].replace(" ", "")


def test_a_token_right_after_a_cell_leaves_the_cell_and_has_the_focus(address, page):
    open_app(page, address, "/embedding?lang=en&arch=decoder&s=The+cat+sat+on+the+mat.")
    chips, plate = page.locator("[class*=st-key-tokens] button.chip"), page.locator(".stage").nth(4)
    expect(chips).to_have_count(9)
    expect(plate).to_be_visible()
    for n, pause in enumerate(2 * PAUSES):
        spot, cell = cell_at(plate, 0.3 + 0.1 * (n % 3), 0.2 + 0.1 * (n % 4))
        page.mouse.click(*spot)
        page.wait_for_timeout(pause)
        chips.nth(n % 5 + 1).dispatch_event("click")
        ends_with(page, cell=f"positions,{cell.split(',')[1]}", at=str(n % 5 + 1))


def test_a_number_that_was_closed_stays_closed(address, page):
    open_app(page, address, "/heads?lang=en&arch=decoder&s=The+cat+sat+on+the+mat.")
    maps, close = page.locator(".stage").first, page.get_by_role("button", name=Words("en")("close"), exact=True)
    grid, panel = page.locator(".map").first.locator("button.cell"), page.locator("[class*=st-key-arithmetic-heads]")
    expect(maps).to_be_visible()
    for n, pause in enumerate(2 * PAUSES):
        spot, cell = cell_at(maps, 0.08, 0.5 + 0.05 * (n % 4))
        page.mouse.click(*spot)
        ends_with(page, pc=cell)
        expect(panel).to_have_count(1)
        close.dispatch_event("click")
        page.wait_for_timeout(pause)
        grid.nth(n % 3 + 1).dispatch_event("click")
        ends_with(page, head=str(n % 3 + 1))
        expect(panel).to_have_count(0)


def test_of_two_cells_in_two_pictures_the_last_counts(address, page):
    open_app(page, address, "/compare?lang=en&arch=decoder&s=The+cat+sat+on+the+mat.&vs=layer&show=weights")
    left, right, layers = page.locator(".stage").nth(0), page.locator(".stage").nth(1), radios(page, "Layer")
    expect(right).to_be_visible()
    for n, pause in enumerate(2 * PAUSES):
        spot, cell = cell_at(left, 0.4, 0.5)
        page.mouse.click(*spot)
        ends_with(page, pair=cell.split(",", 1)[1])
        spot, cell = cell_at(right, 0.4, 0.6 + 0.05 * (n % 3))
        page.mouse.click(*spot)
        page.wait_for_timeout(pause)
        layers.nth(n % 3).dispatch_event("click")
        ends_with(page, layer=str(n % 3), pair=cell.split(",", 1)[1], whose="right")


@pytest.mark.parametrize(
    ("path", "spot", "says"),
    [
        ("/feed_forward", "[class*=st-key-tokens] button.chip >> nth=4", {"at": "4"}),
        ("/heads", ".map button.cell >> nth=6", {"head": "2"}),
        ("/attention", ".frame .chip.pick >> nth=3", {"at": "3"}),
    ],
)
def test_what_is_pressed_while_the_page_changes_is_clicked_when_it_is_let_go(address, page, path, spot, says):
    open_app(page, address, f"{path}?lang=en&arch=decoder&s=The+cat+sat+on+the+mat.&at=1")
    page.locator(spot).scroll_into_view_if_needed()
    page.locator(spot).hover()
    page.mouse.down()
    radios(page, "Layer norm").nth(1).dispatch_event("click")
    ends_with(page, norm="post")
    page.wait_for_timeout(500)
    page.mouse.up()
    ends_with(page, norm="post", **says)
