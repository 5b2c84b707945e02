"""Without a mouse: Tab goes through a whole page and is always seen, arrows and Enter do what clicks do."""

from playwright.sync_api import expect

from tests.browser.conftest import ROOT
from tests.browser.faults import drawn
from tests.browser.test_app import open_app, query, settled

FOCUSED = """() => {
  let one = document.activeElement;
  while (one.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
  const accent = "rgb(91, 62, 150)";
  const ring = (style) => (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0)
    || style.boxShadow !== "none" || style.borderTopColor === accent;
  // Streamlit colours the border around a field, and draws the ring of a slider or a radio beside its input.
  let seen = false, at = one;
  for (let up = 0; up < 4 && at && !seen; up++, at = at.parentElement)
    seen = [at, ...at.children].some((near) => ring(getComputedStyle(near)));
  const keyed = "[class*=st-key-]";
  const place = (one.closest(keyed) ?? one.getRootNode().host?.closest(keyed))?.className ?? "";
  return { tag: one.tagName, kind: one.className.baseVal ?? one.className,
           name: one.ariaLabel || one.textContent.slice(0, 30),
           place: place.match(/st-key-(\\S+)/)?.[1] ?? "", seen };
}"""


def test_tab_reaches_everything_and_is_seen(server, page):
    open_app(page, server(ROOT / "app.py"), "/feed_forward?lang=en&arch=decoder&s=The+cat+sat+on+the+mat.")
    drawn(page)
    stops = []
    for _ in range(150):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED))
        if stops[-1]["tag"] == "BODY":
            break
    assert stops[-1]["tag"] == "BODY", "Tab never leaves the page."
    stops.pop()
    unseen = [stop for stop in stops if not stop["seen"]]
    assert not unseen, unseen
    tags = [(stop["tag"], stop["kind"].split(" ")[0]) for stop in stops]
    assert [kind for _, kind in tags].count("chip") == 1  # the text is one stop, its tokens are walked by arrows
    for reached in (("TEXTAREA", ""), ("CANVAS", "cells"), ("svg", ""), ("BUTTON", "name"), ("BUTTON", "number")):
        assert any(tag == reached[0] and kind.startswith(reached[1]) for tag, kind in tags), reached
    order = [stop["place"] for stop in stops]
    assert order.index("ff-layer") < order.index("ff-neuron")

    # Tokens: the arrows walk, Enter chooses, and the focus is where it was once the picture is drawn anew.
    chips = page.locator("[class*=st-key-tokens] button.chip")
    chips.nth(7).focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("new URL(location).searchParams.get('at') === '4'")
    settled(page)
    expect(chips.nth(4)).to_have_attribute("aria-pressed", "true")
    expect(chips.nth(4)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(chips.nth(5)).to_be_focused()

    # Neurons as dots, in the order of their numbers; and single numbers of a vector.
    drawn(page)
    dots = page.locator(".three svg[role=img]")
    dots.focus()
    for key in ("End", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("new URL(location).searchParams.get('neuron') !== null")
    settled(page)
    assert f"#{query(page)['neuron']}" in page.locator(".row.on .name").inner_text()
    cells = page.locator("canvas.cells").first
    cells.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".tip.on")).to_contain_text("[3]")
    page.keyboard.press("Enter")
    page.wait_for_function("new URL(location).searchParams.get('pc') === '4,3'")
    expect(page.get_by_text("How is this number made?")).to_be_visible()
