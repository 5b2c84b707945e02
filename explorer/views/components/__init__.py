"""Pictures of our own, each a Python file, a script and a style sheet."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st


def begin() -> None:
    """Make the place for what the pictures of a page share: at the beginning of each run of the app."""
    st.session_state.shared, st.session_state.mounted = st.container(key="shared"), set()


def mount(script: Callable, key: str, style: str) -> None:
    """Mount a script, with its style sheet, that several pictures share: once a run, however many they are.

    Without the app's frame it stands beside the first of them.
    """
    mounted = st.session_state.setdefault("mounted", set())
    if key not in mounted:
        mounted.add(key)
        with st.session_state.get("shared") or st.container():
            script(key=key, data=style)


def source(*files: str) -> str:
    """Scripts or style sheets of this folder as one: what several of them share stands in front of their own."""
    return "".join((Path(__file__).parent / file).read_text(encoding="utf-8") for file in files)
