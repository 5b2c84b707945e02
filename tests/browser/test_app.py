"""The app in a real Chromium: every page as the first visit of a fresh server, and the main job from end to end."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from explorer import controls
from explorer.config import ARCHITECTURES
from explorer.words import LANGUAGES, Words
from tests.browser.conftest import ROOT
from tests.browser.faults import axe, drawn, faults

APP = ROOT / "app.py"
PAGES = [name for name, _ in controls.PAGES]
CHECKED = re.compile("torch.nn")
expect.set_options(timeout=30_000)  # a first pass on a busy machine takes its time


def open_app(page, address: str, path: str = "/") -> None:
    page.goto(f"{address}{path}")
    expect(page.locator("h1")).to_be_visible()
    settled(page)


def settled(page) -> None:
    """Wait until the run is over: the check stands at the top, and nothing on the page is stale."""
    expect(page.get_by_text(CHECKED).first).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()


def choose(page, name: str) -> None:
    option = page.get_by_test_id("stSidebar").get_by_role("radio", name=name, exact=True)
    if option.get_attribute("aria-checked") == "true":
        return
    before = page.url
    option.click()
    page.wait_for_function("before => location.href !== before", arg=before)
    settled(page)


def follow(page, name: str) -> None:
    """Click a page's link in the navigation, in its group's menu where pages stand in groups. A person's click."""
    nav = page.get_by_test_id("stTopNav")
    for group in nav.get_by_test_id("stTopNavSection").all():
        group.click(delay=150)
        if page.get_by_test_id("stTopNavDropdownLink").get_by_text(name, exact=True).count():
            page.get_by_test_id("stTopNavDropdownLink").get_by_text(name, exact=True).click(delay=150)
            return
        page.keyboard.press("Escape")
    nav.get_by_role("link", name=name, exact=True).click(delay=150)


def turn(page, name: str) -> None:
    follow(page, name)
    expect(page.locator("h1")).to_have_text(name)
    settled(page)


def query(page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def say(page, text: str) -> None:
    box = page.get_by_test_id("stSidebar").locator("textarea").first
    box.fill(text)
    box.press("Control+Enter")
    page.wait_for_function("text => new URL(location).searchParams.get('s') === text", arg=text)
    settled(page)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_on_a_fresh_server_and_in_every_architecture_and_language(fresh_server, page, name):
    """A deep link as the first visit, with a change and an open panel, without a serious fault (see faults.py)."""
    asked = {
        "lang": "ko" if PAGES.index(name) % 2 else "en",
        "s": "The cat sat.",
        "arch": "encoder-decoder",
        "layer": "1",
    }
    asked |= {"edit": "off:d0a.h1"}
    panels = {"p": "decoder.layers.0.feed_forward.hidden", "pc": "1,1", "c": "1,2,1"}
    open_app(page, fresh_server(APP), f"/{name}?{urlencode(asked | panels)}")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert urlsplit(page.url).path == f"/{name}"
    assert asked.items() <= query(page).items()
    expect(page.locator("textarea").first).to_have_value("The cat sat.")
    page.wait_for_function("language => document.documentElement.lang === language", arg=asked["lang"])
    found = faults(page)
    assert not found, "\n".join(found)
    for language in LANGUAGES:
        choose(page, LANGUAGES[language])
        for architecture in ARCHITECTURES:
            choose(page, Words(language)(f"architecture.{architecture}"))
            expect(page.locator("h1")).to_have_text(Words(language)(f"page.{name}"))
            expect(page.locator(".stException")).to_have_count(0)


def test_a_sentence_through_every_model_to_the_arithmetic_of_a_cell(address, page):
    open_app(page, address, "/values?lang=en")
    say(page, "The little cat was happy.")
    for language in LANGUAGES:
        words = Words(language)
        choose(page, LANGUAGES[language])
        for architecture in ARCHITECTURES:
            choose(page, words(f"architecture.{architecture}"))
            for norm in ("post", "pre"):
                choose(page, words(f"norm.{norm}"))
                expect(page.locator("textarea").first).to_have_value("The little cat was happy.")
                expect(page.locator(".stException")).to_have_count(0)
    choose(page, "English")
    choose(page, "decoder")
    layers = page.get_by_test_id("stSidebar").get_by_role("radiogroup", name="Layer", exact=True)
    layers.get_by_role("radio", name="2").click()
    page.wait_for_function("new URL(location).searchParams.get('layer') === '2'")
    settled(page)

    page.get_by_placeholder("Search values").fill("layer 2 raw scores")
    page.get_by_role("button", name="raw scores").click()
    settled(page)
    page.wait_for_function("new URL(location).searchParams.get('v') === 'decoder.layers.2.self_attention.raw_scores'")
    page.get_by_role("img").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_text("How is this number made?")).to_be_visible()
    settled(page)
    page.wait_for_function("new URL(location).searchParams.has('c')")
    chosen = query(page)["c"]
    panel = page.locator("[class*=st-key-arithmetic]")
    expect(panel.get_by_text(f"raw_scores[{chosen.replace(',', ', ')}]")).to_be_visible()
    expect(panel.get_by_text("smaller terms, together")).to_be_visible()
    expect(panel.get_by_text("The 32 terms, and their running sum")).to_be_visible()

    panel.get_by_role("button", name=re.compile("^queries")).click()
    page.wait_for_function("new URL(location).searchParams.get('v') === 'decoder.layers.2.self_attention.queries'")
    settled(page)
    expect(panel.get_by_text("The 129 terms, and their running sum")).to_be_visible()


def test_going_back_leads_to_the_page_before_with_its_choices(address, page):
    open_app(page, address, "/start?lang=en&arch=decoder")
    choose(page, "encoder")
    choose(page, "post")
    turn(page, "Every value")
    choose(page, "3")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Tokens and predictions")
    page.wait_for_function("new URL(location).searchParams.get('layer') === '0'")
    settled(page)
    assert {"arch": "encoder", "norm": "post"}.items() <= query(page).items()
    page.go_forward()
    expect(page.locator("h1")).to_have_text("Every value")
    page.wait_for_function("new URL(location).searchParams.get('layer') === '3'")


def test_what_is_typed_survives_a_page_link_and_a_reload(address, page):
    open_app(page, address, "/start?lang=en&arch=encoder")
    page.locator("textarea").first.fill("Hello *there* <b>friend</b> $x$")
    follow(page, "Every value")
    expect(page.locator("h1")).to_have_text("Every value")
    settled(page)
    page.wait_for_function("new URL(location).searchParams.get('s') === 'Hello *there* <b>friend</b> $x$'")
    expect(page.locator("textarea").first).to_have_value("Hello *there* <b>friend</b> $x$")
    page.reload()
    expect(page.locator("textarea").first).to_have_value("Hello *there* <b>friend</b> $x$")


def test_a_click_on_a_token_masks_it(address, page):
    open_app(page, address, "/start?lang=en&arch=encoder&s=The+cat+sat.")
    expect(page.get_by_text("Nothing is masked")).to_be_visible()
    page.get_by_role("button", name="·cat").click()
    page.wait_for_function("new URL(location).searchParams.get('s') === 'The [MASK] sat.'")
    expect(page.get_by_text("Behind the mask at position 2")).to_be_visible()
    expect(page.locator("textarea").first).to_have_value("The [MASK] sat.")


def test_tokens_show_what_was_typed(address, page):
    open_app(page, address, "/start?lang=en&arch=decoder&s=%3Cb%3Ethe%3C/b%3E+the+the+%F0%9F%A4%97")
    chips = page.locator("button.chip")
    expect(chips.last).to_be_visible()
    said = [text.replace("\n", "").replace("·", " ") for text in chips.all_inner_texts()[1:]]
    assert "".join(text for text in said if not text.startswith("🤗")).rstrip() == "<b>the</b> the the"
    assert said[-4:] == [f"🤗 {k}/4" for k in range(1, 5)] or said[-4:] == [f" 🤗 {k}/4" for k in range(1, 5)]


def test_a_very_long_text_does_not_reach_the_address(address, page):
    open_app(page, address, "/start?lang=en&arch=decoder")
    text = "Lots of words. " * 13_334
    box = page.locator("textarea").first
    box.fill(text)
    box.press("Control+Enter")
    expect(page.get_by_text("200,010 characters, far more")).to_be_visible()
    assert len(page.url) < 300
    page.get_by_role("button", name="Show the first 256 tokens").click()
    settled(page)
    expect(page.locator("button.chip")).to_have_count(256)
    expect(box).to_have_value(text)


def test_every_colour_follows_the_theme(address, browser):
    grounds = []
    for theme in ("light", "dark"):
        context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=theme)
        page = context.new_page()
        open_app(page, address, "/start?lang=ko")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        drawn(page)
        assert axe(page) == []
        grounds.append(page.locator(".chip").nth(1).evaluate("chip => getComputedStyle(chip).backgroundColor"))
        context.close()
    assert grounds[0] != grounds[1]


def test_nothing_is_fetched_from_elsewhere(address, page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    open_app(page, address, "/start?lang=en&s=!%5Bi%5D(http://example.org/i.png)")
    turn(page, "Every value")
    own = (address, address.replace("http", "ws"), "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []
