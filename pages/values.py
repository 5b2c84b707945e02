"""The values page."""
import streamlit as st
from explorer import controls
controls.within_frame()
view = controls.current()
st.write(len(view.trace))
