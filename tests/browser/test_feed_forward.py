"""The page of the feed-forward layer in a real Chromium: clicks on neurons, tokens and cells, in each architecture."""

import pytest
from playwright.sync_api import expect

expect.set_options(timeout=60_000)  # a first pass on a busy machine takes its time


@pytest.mark.parametrize("kind", ("encoder", "decoder", "encoder-decoder"))
def test_neurons_tokens_and_cells(page, address, kind):
    language = "ko" if kind == "encoder" else "en"
    page.goto(f"{address}/feed_forward?lang={language}&arch={kind}&norm=pre&layer=1&s=The+cat+saw+the+[MASK]+dog.")
    rows = page.locator(".three > section").first.locator(".row:not(.first)")
    expect(rows).to_have_count(8)
    expect(page.locator(".threads path")).to_have_count(4)

    name = rows.nth(2).locator(".name")
    number = name.inner_text().removeprefix("#")
    name.click()
    expect(page.locator(".card h3")).to_contain_text(number)
    expect(page.locator(".three .dot.chosen")).to_have_count(1)
    page.wait_for_function("n => location.search.includes('neuron=' + n)", arg=number)

    rows.nth(2).locator("canvas").click(position={"x": 30, "y": 8})
    expect(page.get_by_text(f"feed_forward.w_1.weight[{number},")).to_be_visible()
    rows.nth(2).locator("button.number").click()
    expect(page.get_by_text(f", {number}]", exact=False).first).to_be_visible()

    page.locator(".opens .column").nth(1).click()
    expect(page.locator(".opens .column").nth(1)).to_have_class("column focus")

    assert "**" not in page.get_by_test_id("stMain").inner_text()  # bold tokens before Korean particles
    page.locator(".three > section").last.locator("canvas").first.hover()
    expect(page.locator(".tip.on").first).to_contain_text("W₂")


def test_on_a_phone_nothing_is_wider_than_the_screen(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/feed_forward?lang=ko&arch=decoder&norm=post&s=The+cat+sat+on+the+mat.")
    expect(page.locator(".three > section")).to_have_count(3)
    for name in (".three", ".card"):
        box = page.locator(name).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    sections = [page.locator(".three > section").nth(n).bounding_box() for n in range(3)]
    assert sections[0]["y"] < sections[1]["y"] < sections[2]["y"]
