"""A Streamlit server for a script, and a page of a real Chromium that tolerates no console or page error."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# After a deep link Streamlit first asks for these below the page and gets a 404, then at the root.
PROBES = ("_stcore/health", "_stcore/host-config")


def chromium() -> str | None:
    """The browser's path, from CHROMIUM or the PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium. Without one the test is skipped, unless EXPLORER_BROWSER_TESTS=compulsory."""
    compulsory = os.environ.get("EXPLORER_BROWSER_TESTS") == "compulsory"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        if compulsory:
            raise
        pytest.skip("Playwright is not installed.")
    path = chromium()
    if path is None:
        assert not compulsory, "Browser tests are compulsory here, and there is no Chromium."
        pytest.skip("There is no Chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def servers(logs: pytest.TempPathFactory) -> Iterator[Callable[[Path | str], str]]:
    """`start(script)` runs a script with the project's settings on a free port and returns its address."""
    running = []

    def start(script: Path | str) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true"]
        command += [f"--server.port={port}", "--server.address=127.0.0.1", "--server.fileWatcherType=none"]
        log = logs.mktemp("server") / "log"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with log.open("w") as output:
            process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=environment)
        running.append(process)
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            assert process.poll() is None, f"The server stopped: {log.read_text()}"
            try:
                with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                    return address
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"The server did not answer in 30 s: {log.read_text()}")

    try:
        yield start
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory) -> Iterator[Callable[[Path | str], str]]:
    """`server(script)` runs a script for the tests of one file (see `servers`)."""
    with servers(tmp_path_factory) as start:
        yield start


@pytest.fixture(scope="module")
def address(server) -> str:
    """Where the app is, run for the tests of one file."""
    return server(ROOT / "app.py")


@pytest.fixture
def fresh_server(browser, tmp_path_factory) -> Iterator[Callable[[Path | str], str]]:
    """The same for one test alone: models and passes take memory, and a server keeps them."""
    with servers(tmp_path_factory) as start:
        yield start


@pytest.fixture
def page(browser):
    """A page of 1440 x 900. The test fails on any error in its console or its scripts."""
    errors = []

    def note(message):
        probe = message.type == "error" and "404" in message.text and message.location["url"].endswith(PROBES)
        if message.type == "error" and not probe:
            errors.append(f"{message.text} ({message.location['url']})")

    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_default_timeout(45_000)
    yield page
    context.close()
    assert not errors, "\n".join(errors)
