"""A page for test_matrix.py: attention maps of an untrained model, short and long, and a plate of queries."""

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


tokens = int(st.query_params.get("tokens", 8))
values = recorded(tokens)
words = [WORDS[place % 8] for place in range(tokens)]
shared = {"rows": words, "focus": 2, "language": st.query_params.get("lang", "en")}
weights = matrix(
    values[PATH + "weights"],
    name="Attention weights",
    path=PATH + "weights",
    columns=words,
    scale="weight",
    allowed=values[PATH + "allowed"].tensor,
    mode=st.query_params.get("mode", "map"),
    key="weights",
    **shared,
)
st.text(f"weights {weights} {weights and values[PATH + 'weights'].tensor[weights].item():.3f}" if weights else "none")
path = PATH + "queries"
queries = matrix(values[path], name="Queries", path=path, scale="query", key="queries", **shared)
st.text(f"queries {queries}")
