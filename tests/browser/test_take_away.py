"""Taking away in a real browser: pictures that look like the page, a page without server, script and network."""

import io
import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import expect

import explorer
from explorer import export
from explorer.words import Words
from tests.browser.test_app import APP, open_app, settled

SVG = "{http://www.w3.org/2000/svg}"
ODD = "<img src=x onerror=alert(1)> *the* $x$ 한국"
WEIGHTS = "decoder.layers.0.self_attention.weights"


@pytest.fixture(scope="module")
def address(server):
    return server(APP)


def opened(page, address: str, path: str):
    open_app(page, address, path)
    settled(page)
    page.locator(".st-key-take-away button").first.click()
    box = page.locator("#take-away")
    box.locator("li").first.wait_for()  # those that are drawn after it was opened join the list
    settled(page)
    return box


def download(page, button, folder: Path) -> Path:
    with page.expect_download() as waiting:
        button.click()
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file


def test_a_picture_is_the_same_as_svg_and_as_png(address, page, tmp_path):
    page.emulate_media(color_scheme="dark")
    box = opened(page, address, "/values?lang=ko&arch=decoder&s=The+cat+sat+%EA%B3%A0%EC%96%91%EC%9D%B4")
    line = box.locator("li").first
    svg = download(page, line.get_by_role("button", name="SVG"), tmp_path)
    png = download(page, line.get_by_role("button", name="PNG"), tmp_path)
    assert svg.suffix == ".svg" and "어텐션" in svg.name
    text = svg.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert "var(" not in text and "currentColor" not in text and "<script" not in text
    assert all(link.startswith("data:image/png") for link in re.findall(r'href="([^"]+)', text))
    assert root.find(f"{SVG}title").text and "The cat sat 고양이" in root.find(f"{SVG}desc").text
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert {"헤드 0", "헤드 3", "가려짐"} <= set(words)
    (cells,) = root.iter(f"{SVG}image")
    inner = Image.open(io.BytesIO(b64decode(cells.get("href").partition(",")[2])))
    assert inner.width == pytest.approx(2 * float(cells.get("width")), abs=2)  # drawn anew, not made larger

    taken = Image.open(png).convert("RGB")
    size = [round(float(root.get(name))) for name in ("width", "height")]
    assert taken.size == (2 * size[0], 2 * size[1])
    page.keyboard.press("Escape")
    expect(page.locator("#take-away")).to_have_count(0)
    page.mouse.move(5, 5)
    stage = page.locator(".stage").first
    seen = Image.open(io.BytesIO(stage.screenshot())).convert("RGB")
    again = taken.resize(size).crop((12, 12, 12 + seen.width, 12 + seen.height))
    apart = np.abs(np.asarray(again, float) - np.asarray(seen, float)).mean(axis=2)
    assert apart.mean() < 6 and (apart > 60).mean() < 0.01  # of 255: hatching and the edges of letters differ


@pytest.mark.parametrize("name", ("overview", "heads", "residuals", "embedding"))
def test_every_picture_of_a_page_can_be_drawn(address, page, tmp_path, name):
    box = opened(page, address, f"/{name}?lang=en&arch=decoder&s=The+cat+sat.")
    count = box.locator("li").count()
    assert count
    for at in range(min(count, 5)):
        svg = download(page, box.locator("li").nth(at).get_by_role("button", name="SVG"), tmp_path)
        root = ET.fromstring(svg.read_bytes())
        marks = sum(1 for _ in root.iter()) - 6
        assert marks > 3 and float(root.get("width")) > 24 and "var(" not in svg.read_text(encoding="utf-8")
    expect(box.get_by_role("status")).to_be_empty()


def test_the_page_opens_without_a_server_and_without_a_network(address, browser, page, tmp_path):
    words = Words("en")
    box = opened(page, address, f"/attention?lang=en&arch=decoder&s={ODD.replace(' ', '+').replace('$', '%24')}")
    names = box.locator("li").count()
    file = download(page, box.get_by_role("button", name=words("take.page")), tmp_path)
    link = page.url
    assert file.name == "queries-keys-values.html" and file.stat().st_size < 1_500_000

    context, asked, wrong = browser.new_context(offline=True, viewport={"width": 390, "height": 800}), [], []
    still = context.new_page()
    still.on("request", lambda request: asked.append(request.url))
    still.on("console", lambda message: wrong.append(message.text))
    still.goto(file.as_uri())
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()] and wrong == []
    assert still.locator("h1").inner_text() == words("page.attention")
    assert still.locator("figure > svg").count() == names >= 5 and still.locator("math").count() > 3
    assert still.locator("script, img, iframe, button, input, [onerror]").count() == 0
    said = still.locator("body").inner_text()
    assert ODD in said and words("take.still") in said and "explorer.read(" in said
    assert still.get_by_role("link").get_attribute("href") == link
    assert still.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_values_are_downloaded_and_are_the_models(address, page, tmp_path):
    opened(page, address, "/heads?lang=en&arch=decoder&s=The+cat+sat.")
    words, popover = Words("en"), page.get_by_test_id("stPopoverBody")
    torch.set_num_threads(1)  # as the app: more of them add in another order
    seen = explorer.read("The cat sat.", "decoder-pre-4")
    file = download(page, popover.get_by_role("button", name=words("take.download")), tmp_path)
    assert file.name == f"decoder-pre-4.{WEIGHTS}.csv"
    assert file.read_bytes() == export.csv(seen[WEIGHTS], {axis: [token.label for token in seen.tokens["decoder"]]
                                                          for axis in ("query", "key")})  # fmt: skip
    popover.get_by_role("radio", name="safetensors").click()
    settled(page)
    file = download(page, popover.get_by_role("button", name=words("take.download")), tmp_path)
    values, about = export.load(file)
    assert list(values) == [WEIGHTS] and values[WEIGHTS].axes == ("head", "query", "key")
    assert np.array_equal(values[WEIGHTS].tensor.numpy(), seen[WEIGHTS].tensor.numpy()) and about == dict(seen.about)


def test_it_fits_a_narrow_window_and_the_link_is_copied(address, page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.set_viewport_size({"width": 390, "height": 844})
    box = opened(page, address, "/values?lang=ko&arch=encoder")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    place = page.get_by_test_id("stPopoverBody").bounding_box()
    assert place["x"] >= 0 and place["x"] + place["width"] <= 390
    words = Words("ko")
    box.get_by_role("button", name=words("take.link")).click()
    expect(box.get_by_role("status")).to_have_text(words("take.copied"))
    assert page.evaluate("navigator.clipboard.readText()") == page.url
