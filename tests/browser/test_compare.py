"""The page of two sides in a real browser: what is clicked on one is followed on both."""

from urllib.parse import urlencode

ADDRESS = {"lang": "en", "arch": "decoder", "s": "The girl was kind", "s2": "It was a kind", "vs": "text"}


def test_a_token_and_a_cell_are_followed_on_both_sides(page, address):
    page.set_default_timeout(60_000)
    page.goto(f"{address}/compare?{urlencode(ADDRESS)}")
    stages = page.locator("[data-testid=stMain] .stage")
    stages.nth(2).wait_for(timeout=90_000)
    page.locator("ol.bars").nth(1).wait_for()
    page.get_by_text("against torch.nn").wait_for()  # the end of the run: nothing moves any more
    assert stages.count() == 3
    chips = page.locator("button.chip")
    chips.filter(has_text="was").nth(1).click()  # on the right
    page.wait_for_function("() => location.search.includes('at=3')")
    followed = page.locator("button.chip.focus")
    followed.filter(has_text="was").nth(1).wait_for()
    assert followed.count() == 2
    chips.nth(8).click()  # "a" on the right, which has no partner on the left
    page.wait_for_function("() => location.search.includes('beside=decoder.3')")
    page.get_by_text("do not stand for each other").wait_for()
    box = stages.nth(0).locator("canvas").bounding_box()
    stages.nth(0).click(position={"x": 80, "y": 0.6 * box["height"]})
    page.wait_for_function("() => location.search.includes('pair=')")
    page.get_by_text("How is this number made?").wait_for()
    code = page.locator("[class*=st-key-arithmetic-] code")
    assert code.inner_text().startswith("decoder.layers.0.self_attention.weights[")
