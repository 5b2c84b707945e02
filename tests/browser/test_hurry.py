"""A reader in a hurry: clicks and keys that do not wait for the last run, and two tabs of one browser."""

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
