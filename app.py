"""The frame around every page: language, controls, navigation, title, the check of the numbers, the address."""

from pathlib import Path

import streamlit as st

from explorer import controls, reader, serving, take_away
from explorer.view import Nothing
from explorer.views import components

st.set_page_config(
    page_title="Transformer Explorer",
    page_icon="🧩",  # an emoji is drawn by the browser; an icon would be fetched from the web
    layout="wide",
    initial_sidebar_state=300,
)
st.html(Path(__file__).parent / "explorer" / "frame.css")

serving.send_at_once()
with serving.turns:
    words = reader.begin()
    take_away.begin()
    st.session_state.framed = True
    page = st.navigation(controls.page_list(words), position="top")
    name = st.session_state.page = page.url_path or controls.PAGES[0][0]
    if st.session_state.pop("go", name) != name:  # a link to a value was followed on another page
        st.switch_page("pages/values.py")
    components.begin()  # after the navigation: before it, the first visits to a server are of no page yet
    with st.sidebar:
        controls.sidebar(words)

    prose = words.prose(name)
    with st.container(horizontal=True, horizontal_alignment="distribute", key="heading"):
        st.title(words(f"page.{name}"), anchor=False, width="content")
        check = st.empty()
    if "caption" in prose:
        with st.container(key="caption"):
            st.markdown(prose["caption"])
    notices = st.container()
    say_edits = controls.edited(name, words)

    try:
        page.run()
    except Nothing as reason:
        reason.say(words)
    with notices:
        controls.notices(words)
    if say_edits:
        say_edits()
    with check.container(width="content", horizontal=True, gap="medium", key="checked"):
        controls.badge(words)
        take_away.offer(name, words)
    with st.sidebar:
        controls.share(name, words)
    st.session_state.framed = False
