"""What a reader waits for, in a real browser: from a committed text, or a click, to the last paint.

    python -m bench.browser                          every page; prints a table, and writes bench/browser.json
    python -m bench.browser overview attention --tokens 12 40 --model decoder-pre-4 encoder-decoder-pre-4

A script in the page notes when a picture's canvas was first drawn, and when something last changed: the page's
elements, those inside its pictures, a canvas; a frame later it was painted. The server's time is from the browser's
message to the last answer, the bytes are those of the answers. Medians of some rounds, each another text of the same
length.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright
from tokenizers import Tokenizer

from explorer import checkpoints
from explorer.config import kind_of
from explorer.controls import PAGES

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).with_suffix(".json")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
TOKENS = (12, 32, 64, 128, 256)
ROUNDS = 5
QUIET = 0.6  # seconds without a change after which a page counts as painted
NOTHING = 2.0  # seconds after which a page that is not running and has not changed will not
HEAD = f"{'page':16}{'model':24}{'tokens':>7}  {'action':8}{'drawn':>7}{'painted':>9}{'server':>8}{'kB':>7}  messages"
LINE = "{page:16}{model:24}{tokens:7}  {action:8}{drawn:7.0f}{painted:9.0f}{server:8.0f}{kB:7.0f}  {messages:.0f}"
STORY = (
    "One day a little girl went to the park with her mom. She saw a big dog and the dog had a red ball. The girl said "
    "hello to the dog and the dog was very happy. They played with the ball all day and then they went home. "
)
WATCH = """
window.bench = { changed: 0, started: 0, drawn: 0 };
// One note a frame: a picture changes thousands of things at once, and that many timers would be what is measured.
const once = (told) => {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => setTimeout(() => { waiting = false; told(performance.now()); }));
  };
};
const note = once((now) => { window.bench.changed = now; });
const first = once((now) => { window.bench.drawn ||= now; });
const draw = () => { note(); if (!window.bench.drawn) first(); };
window.bench.note = note;
const start = () => Object.assign(window.bench, { started: performance.now(), changed: 0, drawn: 0 });
window.bench.start = start;
const seen = (changes) => {
  if (changes.some(({ target }) => !target.closest?.("[data-testid=stStatusWidget], [data-testid=stTextArea]"))) note();
};
const watch = (root, attributes) => new MutationObserver(seen).observe(
  root, { subtree: true, childList: true, characterData: true, attributes },
);
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (options) {
  const root = attach.call(this, options);
  watch(root, true);
  return root;
};
for (const name of ["putImageData", "drawImage", "fillRect", "fill", "stroke", "fillText"]) {
  const paint = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (...given) { draw(); return paint.apply(this, given); };
}
// What goes over the socket, noted here: told to the bench message by message, it would be half of what is measured.
const wire = window.bench.wire = { sent: [], received: [] };
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) {
  if (!this.noted) {
    this.noted = true;
    this.addEventListener("message", ({ data }) => {
      wire.received.push([performance.now(), data.byteLength ?? data.size ?? data.length]);
    });
  }
  wire.sent.push(performance.now());
  return send.call(this, data);
};
document.addEventListener("DOMContentLoaded", () => watch(document.body, false));
document.addEventListener("keydown", (event) => { if (event.ctrlKey && event.key === "Enter") start(); }, true);
document.addEventListener("click", start, true);
"""


def serve() -> tuple[subprocess.Popen, str]:
    """The app on a free port of its own, once it answers."""
    server, address = start()
    wait_for(server, address)
    return server, address


def start(python: Sequence[str] = (), errors: int = subprocess.DEVNULL) -> tuple[subprocess.Popen, str]:
    """Start the app on a free port of its own, with options of Python's and a place for what it writes to stderr."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, *python, "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.headless=true",
               f"--server.port={port}", "--server.fileWatcherType=none"]  # fmt: skip
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors), f"http://127.0.0.1:{port}"


def wait_for(server: subprocess.Popen, address: str) -> None:
    """Wait until the app answers. Raises RuntimeError where it stopped."""
    while True:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            if server.poll() is not None:
                raise RuntimeError(f"The server stopped with {server.returncode}.") from None
            time.sleep(0.02)


def texts(tokens: int) -> list[str]:
    """Texts that a decoder reads as so many tokens, each beginning with another name."""
    tokenizer = Tokenizer.from_file(str(checkpoints.TOKENIZER))
    found = []
    for name in ("Tom", "Lily", "Ben", "Sam", "Max", "Anna", "Tim", "Mia"):
        text = tokenizer.decode(tokenizer.encode(f"{name} was happy. {STORY * 6}").ids[: tokens - 1])
        if len(tokenizer.encode(text).ids) == tokens - 1:
            found.append(text)
    return found


class Watched:
    """A page of the app that notes what changes, and what goes over its socket."""

    def __init__(self, page: Page):
        self.page = page
        page.add_init_script(WATCH)

    def settle(self) -> None:
        """Wait until nothing has changed for a while, or nothing will: a page need not show what was chosen."""
        self.page.wait_for_function(
            """([quiet, nothing]) => {
              const { started, changed } = window.bench, now = performance.now();
              const running = document.querySelector("[data-testid=stApp]").dataset.testScriptState !== "notRunning";
              return changed ? now - changed > quiet : !running && now - started > nothing;
            }""",
            arg=[1000 * QUIET, 1000 * NOTHING],
            timeout=120_000,
        )

    def measure(self, act) -> dict:
        """Milliseconds to the first and the last paint and of the server, and kilobytes received, of an action."""
        self.page.evaluate("Object.assign(window.bench.wire, { sent: [], received: [] })")
        act()
        self.settle()
        noted = self.page.evaluate("window.bench")
        sent, received = noted["wire"]["sent"], noted["wire"]["received"]
        return {
            "drawn": max(0.0, noted["drawn"] - noted["started"]),
            "painted": max(0.0, noted["changed"] - noted["started"]),
            "server": received[-1][0] - sent[0] if sent and received else 0.0,
            "kB": sum(size for _, size in received) / 1000,
            "messages": len(sent),
        }


def commit(page: Page, text: str) -> None:
    box = page.locator("[data-testid=stSidebar] textarea").first
    box.fill(text)
    box.press("Control+Enter")


def actions(page: Page, ready: list[str]) -> dict:
    """What is measured on a page: name -> what a reader does, in a round."""
    layers = page.locator("[class*=st-key-layer] button")
    chips = page.locator("button.chip")
    maps = page.locator(".stage")

    def cell(round_: int) -> None:
        maps.first.scroll_into_view_if_needed()
        box = maps.first.bounding_box()
        page.mouse.click(box["x"] + box["width"] * (0.3 + 0.08 * round_), box["y"] + box["height"] * 0.6)

    def hover(round_: int) -> None:
        box = maps.first.bounding_box()
        for step in range(12):
            page.mouse.move(box["x"] + box["width"] * (0.2 + 0.05 * step), box["y"] + box["height"] * 0.5)
        page.evaluate("window.bench.start()")
        page.evaluate("window.bench.note()")

    found = {
        "text": lambda round_: commit(page, ready[round_ % len(ready)]),
        "layer": lambda round_: layers.nth((round_ + 1) % layers.count()).click(),
    }
    if chips.count() > ROUNDS + 1:
        found["focus"] = lambda round_: chips.nth(1 + round_).click()
    if maps.count() and maps.first.bounding_box():
        found |= {"cell": cell, "hover": hover}
    return found


def bench(address: str, browser, name: str, model: str, tokens: int, only: Collection[str] = ()) -> list[dict]:
    """The figures of one page, with one model, at one length: of all actions, or only of some."""
    architecture, norm, heads = kind_of(model)
    ready = texts(tokens)
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    watched = Watched(page)
    chosen = {"lang": "en", "s": ready[-1], "arch": architecture, "norm": norm, "heads": heads}
    path = "" if name == PAGES[0][0] else name  # the first page is the app's root
    page.goto(f"{address}/{path}?{urlencode(chosen)}")
    page.locator("[class*=st-key-layer] button").first.wait_for(timeout=120_000)
    watched.settle()
    rows = []
    for action, act in actions(page, ready[:-1]).items():
        if only and action not in only:
            continue
        found = [watched.measure(lambda act=act, at=at: act(at)) for at in range(ROUNDS)]
        medians = {key: round(statistics.median(one[key] for one in found), 1) for key in found[0]}
        rows.append({"page": name, "model": model, "tokens": tokens, "action": action, **medians})
    page.context.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.browser", description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", default=[name for name, _ in PAGES])
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS)
    parser.add_argument("--model", nargs="+", default=["decoder-pre-4"])
    chosen = parser.parse_args()
    server, address = serve()
    rows = []
    try:
        with sync_playwright() as playwright:
            path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            print(HEAD)
            for name in chosen.pages:
                for model in chosen.model:
                    for tokens in chosen.tokens:
                        for row in bench(address, browser, name, model, tokens):
                            rows.append(row)
                            print(LINE.format(**row), flush=True)
    finally:
        server.terminate()
    RESULT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
