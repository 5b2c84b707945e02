"""The page of what training sees in a real Chromium: open a loss, draw other masks, let the model go on alone."""

import pytest
from playwright.sync_api import expect

expect.set_options(timeout=60_000)  # a first pass on a busy machine takes its time


def open_page(page, address: str, query: str) -> None:
    page.goto(f"{address}/sees?{query}")
    expect(page.get_by_text("torch.nn").first).to_be_visible(timeout=60_000)
    expect(page.locator(".lesson")).to_have_count(3)


def test_a_loss_is_opened_and_masks_are_drawn_again(page, address):
    open_page(page, address, "lang=en&arch=decoder&norm=pre&s=The+doctor+is+in+the+kitchen.")
    line = page.locator(".lesson").first.locator(".line").nth(3)
    loss = line.locator("button.measure span").inner_text()
    line.locator("button.measure").click()
    said = page.get_by_text("At position 2 the right token")
    expect(said).to_be_visible()
    assert float(said.inner_text().rpartition("= ")[2].split()[0]) == pytest.approx(float(loss), abs=6e-3)
    expect(page.locator(".lesson").first.locator(".line.on")).to_have_count(1)

    masked = page.locator(".lesson").nth(1)
    before = masked.inner_text()
    page.locator(".st-key-draw").get_by_role("button").click()
    page.wait_for_function("location.search.includes('masks=1')")
    expect(masked).not_to_have_text(before, use_inner_text=True)

    expect(page.locator(".drift .line")).to_have_count(1 + 4)
    page.locator(".st-key-given button.chip").nth(2).click()
    expect(page.locator(".drift .line")).to_have_count(1 + 6)


def test_a_translation_on_a_phone_keeps_within_its_frame(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, address, "lang=ko&arch=encoder-decoder&norm=post&s=A+brave+knight+defeated+the+dragon.")
    expect(page.locator(".drift .line.apart")).to_have_count(1)
    expect(page.locator(".batch td.pad").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert "**" not in page.get_by_test_id("stMain").inner_text()  # bold tokens before Korean particles
