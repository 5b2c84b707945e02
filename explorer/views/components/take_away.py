"""What a browser makes of the page: its pictures as SVG and PNG, the whole of it as one HTML file, its link.

The scripts draw what stands in the document once more as SVG (drawing.js), and write prose and drawings into a file
that needs neither a server nor a network (standalone.js).
"""

from collections.abc import Sequence

import streamlit as st

from explorer.views.components import source
from explorer.words import Words

SAID = (
    "pictures", "no_pictures", "picture", "page", "page_help", "link", "copied", "failed", "still", "live", "python",
)  # fmt: skip

_take_away = st.components.v2.component(
    "explorer_take_away",
    css=source("take_away.css"),
    js=source("elements.js", "drawing.js", "standalone.js", "take_away.js"),
)


def pictures(words: Words, title: str, facts: Sequence[str], code: str, key: str) -> None:
    """List the page's pictures, each as SVG and PNG, and offer the page as a file and its link.

    `title` is the page's, `facts` are lines on what it shows, and `code` makes the value at hand anew; all three stand
    in the file, as text.
    """
    said = {name: words(f"take.{name}") for name in SAID}
    about = {"title": title, "facts": list(facts), "code": code}
    _take_away(key=key, data={"words": said, "about": about})
