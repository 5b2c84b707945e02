"""The page of two stacks in a real browser: rows and source tokens are chosen where they are drawn."""

from urllib.parse import parse_qs, urlencode, urlparse

ADDRESS = {"lang": "en", "arch": "encoder-decoder", "s": "The doctor is in the kitchen.", "t": "의사는 부엌에 있어요."}


def chosen(page, name):
    return parse_qs(urlparse(page.url).query).get(name, [None])[0]


def test_click_a_row_then_a_source_token(page, address):
    page.goto(f"{address}/cross_attention?{urlencode(ADDRESS)}")
    target = page.locator("button.chip", has_text="의").first
    target.click()
    page.wait_for_function("location.search.includes('at=1')")
    page.locator(".stage button.chip.focus", has_text="의").wait_for()
    page.locator(".stage button.chip", has_text="doctor").click()
    page.get_by_text("How is this number made?").wait_for()
    page.wait_for_function("location.search.includes('v=')")
    assert chosen(page, "v").endswith("cross_attention.weights")
    assert chosen(page, "c").split(",")[1:] == ["1", "2"]
    page.locator("tr.row.chosen", has_text="doctor").wait_for()
    assert page.locator("tr.row").count() == 9


def test_narrow_stands_upright_and_keeps_its_labels_inside(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/cross_attention?{urlencode(ADDRESS | {'lang': 'ko'})}")
    page.locator(".stage.upright").wait_for()
    for one in page.locator(".stage.upright > .chip, .stage.upright > .word").all():
        box = one.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_words_stay_words_and_arrows_walk(page, address):
    page.goto(f"{address}/cross_attention?{urlencode(ADDRESS | {'s': 'a <b>x</b> cat', 't': '고양이'})}")
    stage = page.locator(".stage[role=group]")
    stage.locator("button.chip").first.wait_for()
    assert stage.locator("b").count() == 0
    stage.locator("button.chip.focus").focus()
    page.keyboard.press("ArrowLeft")
    live = page.locator(".live", has_text="looks at")
    live.wait_for(state="attached")
    page.keyboard.press("ArrowUp")
    page.locator(".live", has_text="looked at by").wait_for(state="attached")
