"""Visits to the app without a browser."""

import re
from collections.abc import Sequence
from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[1]


def visit(page: str = "start", locale: str = "en-US", **address) -> AppTest:
    """A visit that opens with an address, on a page; nothing may go wrong in it."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.context = {"locale": locale}
    for name, value in address.items():
        app.query_params[name] = str(value)
    app.run()
    return sound(turn(app, page))


def turn(app: AppTest, page: str) -> AppTest:
    """The visit on another page."""
    return app.switch_page(f"pages/{page}.py").run()


def sound(app: AppTest) -> AppTest:
    """The visit, if nothing went wrong in it."""
    assert not app.exception, [error.message for error in app.exception]
    return app


def widget(found: Sequence, name: str):
    """The one of these elements that shows a choice, by whichever of its keys (see controls.show)."""
    (one,) = [element for element in found if re.fullmatch(rf"{re.escape(name)}( \d+)?", element.key or "")]
    return one


def reads(app: AppTest, text: str) -> bool:
    """Whether a pass of this very text is on the page, and the text in its box as it was given."""
    view = app.session_state.view
    return view is not None and view.choices.text == text == widget(app.text_area, "s").value


def texts(app: AppTest) -> str:
    """All that is written on the page, one element a line."""
    kinds = ("title", "header", "markdown", "caption", "info", "warning", "error")
    return "\n".join(element.value for kind in kinds for element in getattr(app, kind))
