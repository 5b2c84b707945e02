"""The picture in the README, made from the running app, in light and in dark.

    python -m docs.picture        writes docs/overview-light.webp and docs/overview-dark.webp

It shows the page that opens first, over a sentence whose continuation anybody can judge. To be made anew when that page
or its model changes. Needs what the tests need, and Chromium.
"""

import io
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from bench.browser import FLAGS, serve
from tests.browser.conftest import chromium

FOLDER = Path(__file__).parent
CHOICES = {"lang": "en", "s": "Once upon a time, there was a little", "arch": "decoder", "norm": "pre", "heads": 4,
           "layer": 2}  # fmt: skip
WIDTH, HEIGHT = 1440, 848  # the whole picture of the pass, and nothing of what stands below it


def photograph(browser: Browser, address: str, scheme: str) -> Image.Image:
    """The first page in a colour scheme, two pixels a point."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=2, color_scheme=scheme, locale="en"
    )
    for _ in range(2):  # on the first visit to a server the sidebar may stay a little narrower than it is to be
        page.goto(f"{address}/?{urlencode(CHOICES)}")
        for said in ("Next token after", "against torch.nn"):
            page.get_by_text(said).wait_for(timeout=60_000)
    page.wait_for_timeout(2_000)  # everything has faded in
    taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    return taken


def main() -> None:
    """Start the app, photograph it twice, and stop it."""
    server, address = serve()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            for scheme in ("light", "dark"):
                file = FOLDER / f"overview-{scheme}.webp"
                photograph(browser, address, scheme).save(file, lossless=True, method=6)
                print(f"{file.name}: {file.stat().st_size:,} bytes")
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
