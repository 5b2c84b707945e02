"""The page from rules to attention in a real browser: cells, words and rules are chosen by a click."""

import re

from playwright.sync_api import expect

from tests.browser.test_embedding_heads import asked, settled

TEXT = "The girl is playing in the park."


def walk(page, number: int, *keys: str) -> None:
    """Choose a cell of a map with the keyboard."""
    maps = page.locator(".stage").nth(number)
    maps.scroll_into_view_if_needed()
    maps.focus()
    for key in keys:
        page.keyboard.press(key)


def pairs(page, key: str):
    """How much *playing* looks at a token, as it is written above each map."""
    return page.locator("p").filter(has_text=re.compile(rf"playing.*→.*{key}.*itself", re.DOTALL))


def test_a_pair_a_word_and_a_rule(page, address):
    page.goto(f"{address}/rules?lang=en&arch=decoder&layer=2&s={TEXT}")
    settled(page)
    expect(pairs(page, "girl")).to_have_count(4)
    walk(page, 3, "ArrowLeft", "Enter")  # of the learned weights: one key before the girl
    page.wait_for_function("() => location.search.includes('pair=4%2C1%2C')")
    settled(page)
    expect(
        page.get_by_text(re.compile(r"^decoder\.layers\.2\.self_attention\.weights\[0, 4, 1\]$")).first
    ).to_be_visible()
    expect(pairs(page, "The")).to_have_count(4)
    page.get_by_role("button", name="·park").first.click()
    page.wait_for_function("() => location.search.includes('swap=27%3Apark%3A')")
    settled(page)
    box = page.get_by_label("The word in its place")
    box.fill("kitchen")
    box.press("Enter")
    asked(page, "swap", "27:park:kitchen")
    expect(page.get_by_text("Does not move at all")).to_have_count(2)
    page.get_by_role("button", name="Change the model so on every page").nth(1).click()
    page.wait_for_function("() => location.search.includes('edit=distance')")
    settled(page)
    expect(page.get_by_text("Your changes are left out here")).to_be_visible()


def test_words_of_another_number_of_pieces_on_a_phone(page, address):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/rules?lang=ko&arch=encoder&s=나는 어제 파리에서 놀았다.")
    settled(page)
    expect(page.get_by_text("전혀 움직이지 않음")).to_have_count(2)
    expect(page.get_by_text(re.compile("조각이 3개와 5개로 달라서"))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
