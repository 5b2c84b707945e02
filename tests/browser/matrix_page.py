"""A page for test_matrix.py: attention maps of an untrained model, short and long, and a plate of queries."""

import time

import streamlit as st
import torch

from explorer.config import Config
from explorer.trace import trace
from explorer.transformer import Transformer
from explorer.views.components.matrix import matrix

PATH = "decoder.layers.0.self_attention."
WORDS = ["⟨bos⟩", "the", "·the", "·the", "<b>x</b>", "*a*", "it's", "한국어"]

st.set_page_config(layout="wide")


@st.cache_resource
def recorded(tokens: int):
    torch.manual_seed(0)
    model = Transformer(Config("decoder", heads=4, layers=1)).eval()
    return trace(model, target=torch.arange(5, 5 + tokens))


def choose(name: str, cell: tuple[int, ...]) -> None:
    """Take a choice, unless the page is asked to take none of this row."""
    if cell[-2] != int(st.query_params.get("refused", -1)):
        st.session_state[f"chosen {name}"] = cell
    st.session_state["clicks"] = st.session_state.get("clicks", 0) + 1


tokens = int(st.query_params.get("tokens", 8))
values = recorded(tokens)
words = [WORDS[place % 8] for place in range(tokens)]
shared = {"rows": words, "focus": 2, "language": st.query_params.get("lang", "en")}
weights, queries = (st.session_state.get(f"chosen {name}") for name in ("weights", "queries"))
time.sleep(float(st.query_params.get("slow", 0)))
matrix(
    values[PATH + "weights"],
    name="Attention weights",
    path=PATH + "weights",
    columns=words,
    scale="weight",
    allowed=values[PATH + "allowed"].tensor,
    mode=st.query_params.get("mode", "map"),
    key="weights",
    chosen=weights,
    on_choose=lambda cell: choose("weights", cell),
    **shared,
)
st.text(f"weights {weights} {weights and values[PATH + 'weights'].tensor[weights].item():.3f}" if weights else "none")
path = PATH + "queries"
matrix(
    values[path],
    name="Queries",
    path=path,
    scale="query",
    key="queries",
    chosen=queries,
    on_choose=None if "read" in st.query_params else lambda cell: choose("queries", cell),
    **shared,
)
st.text(f"queries {queries}")
st.text(f"clicks {st.session_state.get('clicks', 0)}")
