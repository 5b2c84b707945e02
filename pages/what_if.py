"""Changes of the running model: what they do to the prediction, and on the way to it."""

import streamlit as st

from explorer import controls, reader
from explorer.analysis.predictions import prediction
from explorer.view import current
from explorer.views.components.tokens import Bar, bars

controls.within_frame()

words = reader.words()
view = current()
for column, run in zip(st.columns(2, gap="large"), (view.plain, view.run), strict=True):
    with column:
        found = prediction(run.trace, view.focus)
        bars(
            [Bar(view.token(id), share) for id, share in found.best],
            name=words("page.what_if"),
            key=f"bars {run.changes}",
        )
