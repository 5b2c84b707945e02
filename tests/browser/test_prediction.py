"""The page of the prediction in a real Chromium: choose a token, open a cell, go on with the text, mask a token."""

from playwright.sync_api import expect

expect.set_options(timeout=60_000)  # a first pass on a busy machine takes its time


def open_page(page, address: str, query: str) -> None:
    page.goto(f"{address}/prediction?{query}")
    expect(page.get_by_text("torch.nn").first).to_be_visible(timeout=30_000)


def test_a_decoder_goes_on_with_the_text(page, address):
    open_page(page, address, "lang=en&arch=decoder&norm=pre&s=The+cat+sat")
    rows = page.locator(".output .line:not(.head, .rest)")
    expect(rows).to_have_count(10)
    rows.nth(3).locator("button.chip").click()
    expect(rows.nth(3)).to_have_class("line on")
    page.wait_for_function("location.search.includes('token=')")

    rows.nth(3).locator("button.number").click()
    expect(page.get_by_text("logits[").first).to_be_visible()
    page.locator(".lens").first.locator("tr").nth(2).locator(".guess").nth(1).click()
    expect(page.get_by_text("decoder.layers.0.self_attention_residual.", exact=False).first).to_be_visible()

    before = page.locator(".each .line").count()
    page.get_by_role("button", name="Draw one and go on").click()
    expect(page.locator(".each .line")).to_have_count(before + 1)


def test_a_click_masks_a_token_of_an_encoder_and_the_gap_is_filled(page, address):
    open_page(page, address, "lang=ko&arch=encoder&norm=post&s=The+cat+sat")
    expect(page.locator(".output")).to_have_count(0)
    page.locator(".strip").first.locator("button.chip").nth(2).click()
    expect(page.locator(".output .line:not(.head, .rest)")).to_have_count(10)
    expect(page.locator(".strip").first.locator("button.chip").nth(2)).to_contain_text("mask")
    assert "**" not in page.get_by_test_id("stMain").inner_text()  # bold tokens before Korean particles
    expect(page.locator(".strip").nth(1).locator(".chip.special")).to_have_count(2)


def test_a_later_target_token_is_changed_on_a_phone(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, address, "lang=en&arch=encoder-decoder&norm=pre&s=The+cat+sat.&t=고양이가+앉았어요.&swap=3")
    grid = page.locator(".lens").last
    expect(grid.locator("td.here").first).to_be_visible()
    first = grid.locator("tr").last.locator(".guess")
    texts = first.all_inner_texts()
    assert texts[:3] == ["0", "0", "0"] and "0" not in texts[3:]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
