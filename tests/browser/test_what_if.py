"""Changes of the model in a real browser: a click switches off, the line undoes, the link holds, patches are taken."""

from urllib.parse import urlencode

GIRL = {"lang": "en", "arch": "decoder", "s": "The girl was happy because"}


def holds(page, part: str) -> None:
    """Wait until the address holds this."""
    page.wait_for_function("part => decodeURIComponent(location.search).includes(part)", arg=part)


def test_click_undo_and_patch(page, address):
    page.goto(f"{address}/what_if?{urlencode(GIRL | {'s2': 'The boy was happy because'})}")
    head = page.locator("button.switch[title^='layer 1 self-attention head 2']")
    page.locator("button.switch .number", has_text="−").first.wait_for()  # each was tried, without being asked for
    head.click()
    page.get_by_text("Changed:").wait_for()
    holds(page, "edit=off:d1a.h2")
    page.locator("button.switch.off").wait_for()
    page.get_by_role("button", name="Try every place").click()
    patches = page.locator(".stages").nth(1)  # below the change through depth
    patches.wait_for()
    patches.locator(".untried").first.wait_for(state="detached")
    patches.locator(".cell[title^='entrance, girl']").click()
    holds(page, "patch:decoder.embedding.output:2")
    page.get_by_role("button", name="Undo all").click()
    page.get_by_text("Changed:").wait_for(state="detached")
    page.wait_for_function("!location.search.includes('edit=')")
    assert page.locator("button.switch.off").count() == 0


def test_a_link_with_changes_on_a_narrow_screen(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    changed = {"lang": "ko", "arch": "encoder-decoder", "s": "The cat.", "edit": "off:d0x;scale:e1f:0.5"}
    page.goto(f"{address}/what_if?{urlencode(changed)}")
    page.locator(".lane button.switch.off").wait_for()
    assert page.locator(".lane button.switch.off").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".outcomes").wait_for()
    boxes = [page.locator(where).bounding_box() for where in (".lane >> nth=0", ".outcomes", ".st-key-edits")]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
