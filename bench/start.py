"""From the command to the first values, and what the server's memory holds.

    python -m bench.start             five starts; prints the medians, and writes them to bench/start.json

A browser that runs already opens the app as soon as the server answers. The frame is painted when the page's title
stands there; the first values are, when the first picture is drawn. The memory is that of the server alone: before the
first visit, after it, and after every page was opened once.

Another start logs what is imported and when: what takes long to import must not come before the frame is painted.
"""

import asyncio
import json
import os
import re
import statistics
import subprocess
import threading
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from websockets.asyncio.client import connect

from bench.browser import FLAGS, WATCH, start, wait_for
from bench.readers import Reader, resident
from explorer.controls import PAGES

ROUNDS = 5
HEAVY = ("torch", "altair", "pandas")
RESULT = Path(__file__).with_suffix(".json")
TITLE = """
window.title = 0;
const look = () => {
  if (document.querySelector("[data-testid=stHeading] h1")) setTimeout(() => { window.title = performance.now(); });
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
IMPORTED = re.compile(r"import time:\s+\d+ \|\s+\d+ \|\s+(\S+)")


class Started:
    """A server that was just started, and the modules that it imported so far, with the seconds since the command."""

    def __init__(self, log: bool = False):
        self.begun = time.perf_counter()
        self.imported: dict[str, float] = {}
        options = ("-X", "importtime") if log else ()
        self.process, self.address = start(options, subprocess.PIPE if log else subprocess.DEVNULL)
        if log:
            threading.Thread(target=self._listen, daemon=True).start()
        wait_for(self.process, self.address)
        self.answers = self.seconds()

    def _listen(self) -> None:
        for line in self.process.stderr:
            if found := IMPORTED.match(line.decode(errors="replace")):
                self.imported.setdefault(found[1], self.seconds())

    def seconds(self) -> float:
        return time.perf_counter() - self.begun

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def visit(server: Started, browser: Browser) -> dict[str, float]:
    """Seconds from the command to what a visitor sees first: the frame, and the first values."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.add_init_script(WATCH + TITLE)
    opened = server.seconds()
    page.goto(server.address, wait_until="commit")
    page.wait_for_function("window.title && window.bench.drawn", timeout=60_000)
    seen = page.evaluate("({ painted: window.title, values: window.bench.drawn })")
    page.context.close()
    return {"answers": server.answers} | {name: opened + at / 1000 for name, at in seen.items()}


async def every_page(address: str) -> None:
    """Open every page once, as one reader."""
    async with connect(f"{address.replace('http', 'ws')}/_stcore/stream", max_size=None, compression=None) as socket:
        reader = Reader(socket, "lang=en")
        await reader.run()
        for name, _ in PAGES:
            reader.page = reader.pages[name]
            await reader.run()


def main() -> None:
    load, rounds, memory = os.getloadavg()[0], [], []
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        browser.new_page().goto("about:blank")
        for _ in range(ROUNDS):
            with Started() as server:
                before = resident(server.process)
                rounds.append(visit(server, browser))
                memory.append([before, resident(server.process)])
        with Started(log=True) as server:
            painted = visit(server, browser)["painted"]
            late = {name: round(server.imported[name] - painted, 2) for name in HEAVY if name in server.imported}
    with Started() as server:
        asyncio.run(every_page(server.address))
        everywhere = resident(server.process)
    seconds = {name: round(statistics.median(one[name] for one in rounds), 2) for name in rounds[0]}
    before, after = (round(statistics.median(found)) for found in zip(*memory, strict=True))
    found = {
        "cores": os.cpu_count(),
        "load before": round(load, 1),
        "seconds from the command": seconds,
        "MB": {"at rest": before, "after the first visit": after, "after every page": round(everywhere)},
        "imported, seconds after the frame was painted": late,
    }
    for name, value in found.items():
        print(f"{name}: {value}")
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    if early := [name for name, after in late.items() if after < 0]:
        raise SystemExit(f"Imported before the frame was painted: {', '.join(early)}.")


if __name__ == "__main__":
    main()
