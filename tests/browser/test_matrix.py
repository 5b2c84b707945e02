"""The matrix in a real browser: hover, click, keys, a narrow window, the other theme."""

import re
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def address(server):
    return server(Path(__file__).parent / "matrix_page.py")


def stage(page, at=0):
    found = page.locator(".stage").nth(at)
    found.wait_for()
    page.wait_for_function("at => document.querySelectorAll('[data-testid=stText]').length > 1", arg=at)
    return found


def numbers(text):
    return [float(number.replace("−", "-")) for number in re.findall(r"−?\d+\.\d+", text)]


def test_hover_shows_the_number_and_click_returns_its_cell(page, address):
    page.goto(address)
    weights = stage(page)
    assert weights.get_attribute("role") == "img"
    assert "4 head × 8 query × 8 key" in weights.get_attribute("aria-label")
    chip = weights.locator(".chip").nth(3)
    box, left = chip.bounding_box(), weights.bounding_box()["x"]
    chips = max(each.bounding_box()["x"] + each.bounding_box()["width"] for each in weights.locator(".chip").all())
    assert left <= box["x"]
    page.mouse.move(chips + 20, box["y"] + box["height"] / 2)
    tip = page.locator(".tip.on")
    tip.wait_for()
    assert "weights[0, 3, 0]" in tip.inner_text()
    (seen,) = numbers(tip.inner_text().splitlines()[-1])
    page.mouse.click(chips + 20, box["y"] + box["height"] / 2)
    page.get_by_text("weights (0, 3, 0)").wait_for()
    assert numbers(page.get_by_text("weights (0, 3, 0)").inner_text()) == [seen]


def test_words_are_text(page, address):
    page.goto(address)
    assert stage(page).get_by_text("<b>x</b>").count() >= 1
    assert page.locator(".stage b").count() == 0


def test_arrow_keys_walk_enter_chooses_escape_leaves(page, address):
    page.goto(address)
    weights = stage(page)
    weights.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "PageDown"):
        page.keyboard.press(key)
    assert "weights[1, 3, 1]" in page.locator(".tip.on").inner_text()
    assert re.search(r"·the, the: \d\.\d{3}", page.locator(".live").first.inner_text())
    page.keyboard.press("Enter")
    page.get_by_text("weights (1, 3, 1)").wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".tip.on").count() == 0


def test_every_number_of_a_grouped_matrix_can_be_reached(page, address):
    page.goto(f"{address}/?tokens=128")
    weights = stage(page)
    assert weights.get_by_text("numbers a cell").count() == 1
    weights.focus()
    page.keyboard.press("ArrowRight")
    for _ in range(24):
        page.keyboard.press("ArrowDown")
    page.get_by_text(re.compile(r"weights \(0, 24, \d+\)")).wait_for()
    weights.get_by_text("query 12 to 35").wait_for()
    page.locator(".tip.on").get_by_text("weights[0, 24,").wait_for()
    page.keyboard.press("ArrowDown")
    page.locator(".tip.on").get_by_text("weights[0, 25,").wait_for()


def test_lines_isolate_a_token(page, address):
    page.goto(f"{address}/?mode=lines")
    weights = stage(page)
    assert weights.get_by_text(re.compile("Links under 0.07 are left out")).count() == 1
    weights.locator(".chip").nth(4).hover(force=True)
    assert numbers(page.locator(".tip.on").inner_text())


def test_narrow_and_korean(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/?lang=ko")
    weights = stage(page)
    assert weights.get_by_text("헤드 3").count() == 1
    for child in weights.locator(".chip, .text:not(.slant)").all():
        box = child.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    weights.click(position={"x": 120, "y": 60})
    assert page.locator(".tip.sheet.on").count() == 1


def test_colours_follow_the_theme_without_a_run(page, address):
    page.goto(address)
    weights = stage(page)
    read = "stage => stage.style.getPropertyValue('--raised')"
    before = weights.evaluate(read)
    page.emulate_media(color_scheme="dark")
    changed = "([stage, before]) => stage.style.getPropertyValue('--raised') !== before"
    page.wait_for_function(changed, arg=[weights.element_handle(), before])
    assert {before, weights.evaluate(read)} == {"#FFFFFF", "#20242D"}


def ringed(weights) -> int:
    """How many cells have a ring, with the pointer away."""
    weights.page.mouse.move(1, 1)
    return weights.locator("svg rect[stroke-width='2']").count()


def test_the_ring_is_there_at_once_and_gives_way_to_what_the_server_says(page, address):
    page.goto(f"{address}/?slow=1.5&refused=3")
    weights = stage(page)

    def click(row: int) -> None:
        box = weights.locator(".chip").nth(row).bounding_box()
        page.mouse.click(box["x"] + 130, box["y"] + box["height"] / 2)

    assert ringed(weights) == 0
    click(3)  # the page takes no choice of this row
    assert ringed(weights) == 1
    page.get_by_text("clicks 1").wait_for()
    gone = "stage => !stage.querySelector('svg rect[stroke-width=\"2\"]')"
    page.wait_for_function(gone, arg=weights.element_handle())
    page.get_by_text("none", exact=True).wait_for()
    click(4)
    assert ringed(weights) == 1
    page.get_by_text("weights (0, 4,").wait_for()
    page.get_by_text("clicks 2").wait_for()
    assert ringed(weights) == 1


def test_cells_that_are_there_to_be_read_take_no_click(page, address):
    page.goto(f"{address}/?read")
    queries = stage(page, 1)
    assert "Enter" not in queries.get_attribute("aria-label")
    queries.click(position={"x": 200, "y": 40})
    assert page.locator(".tip.on").get_by_text("queries[").count() == 1
    assert ringed(queries) == 0
    stage(page).click(position={"x": 130, "y": 60})
    page.get_by_text("clicks 1").wait_for()
