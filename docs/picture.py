"""The pictures in README.md and README.ko.md, made from the running app, in light and in dark.

    python -m docs.picture        writes docs/decoder-light.webp and so on

They show the page that opens first. To be made anew when that page or its models change. Needs what the tests need, and
Chromium.
"""

import io
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from bench.browser import FLAGS, serve
from tests.browser.conftest import chromium

FOLDER = Path(__file__).parent
PRE_NORM = {"norm": "pre", "heads": 4}
SHOWN = {  # what is chosen in a picture
    "decoder": {"lang": "en", "s": "Once upon a time, there was a little", "arch": "decoder", **PRE_NORM, "layer": 2},
    "encoder-decoder": {
        "lang": "ko",
        "s": "The doctor is in the kitchen.",
        "arch": "encoder-decoder",
        **PRE_NORM,
        "layer": 1,
        "at": 2,
    },
}
HEIGHT = {"decoder": 848, "encoder-decoder": 908}  # down to the end of the pass, and no farther


def photograph(browser: Browser, address: str, name: str, scheme: str) -> Image.Image:
    """The first page in a colour scheme, two pixels a point."""
    size = {"width": 1440, "height": HEIGHT[name]}
    page = browser.new_page(viewport=size, device_scale_factor=2, color_scheme=scheme)
    for _ in range(2):  # on the first visit to a server the sidebar may stay a little narrower than it is to be
        page.goto(f"{address}/?{urlencode(SHOWN[name])}")
        for said in ("softmax", "torch.nn"):
            page.get_by_text(said).first.wait_for(timeout=60_000)
    page.wait_for_timeout(2_000)  # everything has faded in
    taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    return taken


def main() -> None:
    """Start the app, photograph it, and stop it."""
    server, address = serve()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            for name in SHOWN:
                for scheme in ("light", "dark"):
                    file = FOLDER / f"{name}-{scheme}.webp"
                    photograph(browser, address, name, scheme).save(file, lossless=True, method=6)
                    print(f"{file.name}: {file.stat().st_size:,} bytes")
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
