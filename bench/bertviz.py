"""The pages of attention beside BertViz: the same weights and sentences, in the same browser.

    peers/bin/python -m bench.bertviz            prints a table, and writes it to bench/bertviz.json

BertViz draws what it is handed: here, the attention weights of our model over the text, all heads of all layers, as
`head_view(..., html_action="return")` writes them into one HTML page. Its bytes are those of that page, its time is
from the call to the last paint. The page asks a content delivery network for RequireJS 2.3.6, D3 5.7.0 and jQuery
2.0.0; so that nothing depends on a network, the browser gets them from npm's packages on the disk (jquery 2.2.4, for
npm has no 2.0.0), which `npm install` fetches once. They do not count as bytes. Ours are the figures of bench.browser
for a new text: what goes over the socket, and the time from the committed text to the last paint, with the model's
pass and the check of its numbers in between, which BertViz has behind it.

Then, in both, another layer is chosen. Medians of some rounds, each another text of the same length.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import bertviz
import torch
from playwright.sync_api import Browser, Route, sync_playwright

from bench.browser import FLAGS, TOKENS, Watched, bench, serve, texts
from explorer import checkpoints, serving
from explorer.tokens import Tokenizer
from explorer.trace import trace

MODEL = "decoder-pre-4"
PAGES = ("heads", "attention")
ACTIONS = ("text", "layer")
ROUNDS = 3
LINE = "{page:12}{tokens:5}  {action:7}{painted:9.0f} ms {server:8.0f} ms {kB:9.0f} kB"
PACKAGES = ("requirejs@2.3.6", "d3@5.7.0", "jquery@2.2.4")
SCRIPTS = {"require": "requirejs/require.js", "d3": "d3/dist/d3.min.js", "jquery": "jquery/dist/jquery.min.js"}
RESULT = Path(__file__).with_suffix(".json")


def html(model, read: Tokenizer, text: str) -> str:
    """BertViz's page of a text: its tokens, and the attention weights of all layers."""
    tokens = read.decoder_input(text)
    ids = torch.tensor([token.id for token in tokens])
    weights = trace(model, None, ids).select("decoder.layers.*.self_attention.weights").values()
    return bertviz.head_view(
        [value.tensor.unsqueeze(0) for value in weights],
        [token.label for token in tokens],
        html_action="return",
        prettify_tokens=False,
    ).data


def theirs(browser: Browser, folder: Path, tokens: int) -> list[dict]:
    """BertViz over texts of so many tokens: a new text, and another layer."""
    model, read = checkpoints.load(MODEL), Tokenizer.load(checkpoints.TOKENIZER)
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    watched = Watched(page)
    written = ""

    def answer(route: Route) -> None:
        name = Path(route.request.url).name.partition(".")[0]
        if name in SCRIPTS:
            route.fulfill(path=folder / "node_modules" / SCRIPTS[name], content_type="text/javascript")
        else:
            route.fulfill(body=written, content_type="text/html; charset=utf-8")

    page.route("**/*", answer)
    rounds: dict[str, list[dict]] = {"text": [], "layer": []}
    for text in texts(tokens)[:ROUNDS]:
        started = time.perf_counter()
        written = html(model, read, text)
        call = 1000 * (time.perf_counter() - started)
        page.goto("http://bertviz.test/", wait_until="commit", timeout=300_000)
        page.locator("#layer option").first.wait_for(state="attached", timeout=300_000)
        watched.settle()
        painted = call + page.evaluate("window.bench.changed")
        rounds["text"].append({"painted": painted, "server": call, "kB": len(written.encode()) / 1000})
        page.evaluate("window.bench.start()")
        page.locator("#layer").select_option("2")
        watched.settle()
        again = page.evaluate("window.bench.changed - window.bench.started")
        rounds["layer"].append({"painted": again, "server": 0.0, "kB": 0.0})
    page.context.close()
    return [
        {"page": "BertViz", "tokens": tokens, "action": action}
        | {key: round(statistics.median(one[key] for one in found), 1) for key in found[0]}
        for action, found in rounds.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.bertviz", description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS)
    chosen = parser.parse_args()
    serving.prepare()
    load, rows = os.getloadavg()[0], []
    server, address = serve()
    try:
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES], cwd=folder, check=True)
            path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            for tokens in chosen.tokens:
                ours = [row for page in PAGES for row in bench(address, browser, page, MODEL, tokens, ACTIONS)]
                for row in (*theirs(browser, Path(folder), tokens), *ours):
                    rows.append({key: row[key] for key in ("page", "tokens", "action", "painted", "server", "kB")})
                    print(LINE.format(**row), flush=True)
    finally:
        server.terminate()
    found = {"cores": os.cpu_count(), "load before": round(load, 1), "rows": rows}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
