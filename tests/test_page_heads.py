"""The page on heads: its numbers are the trace's, and what it says of heads holds."""

import json

import pytest
import torch
from streamlit.testing.v1 import AppTest

from explorer import checkpoints
from explorer.analysis import attention, korean
from explorer.config import ARCHITECTURES, Config
from explorer.tokens import Tokenizer
from explorer.views.components.headmap import Question, headmap_data, share
from explorer.words import LANGUAGES, Words
from tests.small import GRID, named, recorded
from tests.visits import reads, sound, texts, visit

TEXT = "The dog saw the cat and the cat saw a dog."


def message(app: AppTest, name: str) -> dict:
    """The data of the component that has these words in its identity."""
    found = [each.proto for each in app.get("bidi_component") if name in each.proto.id]
    assert len(found) == 1, [each.proto.id for each in app.get("bidi_component")]
    return json.loads(found[0].json)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_grid_shows_the_measures(architecture):
    app = sound(visit("heads", arch=architecture, s=TEXT, layer=1, head=2, lang="en"))
    view = app.session_state.view
    data = message(app, "headmap")
    rows = attention.measures(view.trace)
    paths = list(dict.fromkeys(row.path for row in rows))
    titles = {
        Words("en")(f"heads.ask.{name}"): name for name in ("itself", "previous", "next", "first", "same", "spread")
    }
    assert ("the token after" in [grid["title"] for grid in data["maps"]]) is (architecture != "decoder")
    spelt = {Words("en")(f"heads.ask.{name}"): name for name in ("particle", "ending")}  # where a text is Korean
    for grid in data["maps"]:
        if grid["title"] in spelt:
            expected = []
            for path in paths:
                places = korean.kinds(view.tokens_of(f"{path}.weights", "key"))[spelt[grid["title"]]]
                found = attention.on_keys(view.trace, path, places)
                expected.append([None] * view.config.heads if found is None else found.share.tolist())
        else:
            expected = [[getattr(row, titles[grid["title"]]) for row in rows if row.path == path] for path in paths]
        assert grid["shares"] == expected
        assert grid["said"] == [[share(number) for number in row] for row in grid["shares"]]
    assert data["chosen"][1] == 2 and paths[data["chosen"][0]].endswith("layers.1.self_attention")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_numbers_of_a_chosen_head_are_the_traces(language):
    app = sound(visit("heads", arch="decoder", s=TEXT, layer=2, head=1, at=7, lang=language))
    view, words, said = app.session_state.view, Words(language), texts(app)
    path = "decoder.layers.2.self_attention"
    alike = attention.overlap(view.trace, path)
    mean = float((alike.sum() - alike.trace()) / (alike.numel() - len(alike)))
    assert f"{mean:.0%}" in said
    looked = message(app, "focus")["bars"]
    row = view.trace[f"{path}.weights"].tensor[1, 7]
    assert [bar["share"] for bar in looked] == row.sort(descending=True).values[:6].tolist()
    assert looked[0]["said"].endswith(str(int(row.argmax())))
    q, sliced = view.trace[f"{path}.queries"].tensor[1, 7], attention.sliced_query(view.trace, path, 1, 7)
    cosine = float(torch.cosine_similarity(q, sliced, dim=0))
    assert words("heads.cosine", cosine=f"{cosine:.2f}".replace("-", "−")) in said


@pytest.mark.parametrize("value", ["weights", "queries", "heads", "output"])
def test_a_chosen_cell_opens_its_arithmetic_under_its_picture(value):
    path = f"decoder.layers.0.self_attention.{value}"
    index = "3,5" if value == "output" else "1,3,2"
    app = sound(visit("heads", arch="decoder", s=TEXT, at=3, head=1, p=path, pc=index))
    assert f"`{path}[{index.replace(',', ', ')}]`" in texts(app)
    assert Words("en")("arithmetic.title") in texts(app)


@pytest.mark.parametrize("heads", [1, 2, 8])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_other_head_counts(architecture, heads):
    app = visit("heads", arch=architecture, norm="post", heads=heads, s=TEXT)
    assert app.session_state.view.config.heads == heads
    assert len(message(app, "headmap")["maps"][0]["shares"][0]) == heads


@pytest.mark.parametrize("text", ["a", "word " * 250, "*x* $y$ ![z](http://q) <b>:smile:", "한글 test 🤗 뷁"])
def test_any_text(text):
    assert reads(visit("heads", arch="encoder", s=text), text)
    assert reads(visit("heads", arch="decoder", s=text, drawn="lines"), text)


def test_korean_particles_and_endings_are_asked_for():
    app = sound(visit("heads", arch="decoder", s="언니가 동생에게 책을 주었다.", lang="ko"))
    titles = [grid["title"] for grid in message(app, "headmap")["maps"]]
    assert {"조사", "어미"} <= set(titles)
    app = sound(visit("heads", arch="decoder", s=TEXT, lang="ko"))
    assert "조사" not in [grid["title"] for grid in message(app, "headmap")["maps"]]


@pytest.mark.parametrize("config", GRID[::2], ids=named)
def test_what_the_page_says_of_heads(config):
    seen = recorded(config)
    for path in attention.attentions(seen):
        values = {name: seen[f"{path}.{name}"].tensor for name in ("weights", "allowed", "queries", "output")}
        given = attention.contributions(seen, path)
        stacked = attention.stacked(given, 1)
        assert torch.allclose(stacked[:-1].sum(0), values["output"][1]) and torch.equal(stacked[-2], given.bias)
        assert torch.allclose(stacked[-1], values["output"][1])
        alike = attention.overlap(seen, path)
        assert torch.allclose(alike.diagonal(), torch.ones(config.heads, dtype=alike.dtype))
        assert torch.allclose(alike, alike.mT) and (alike <= 1 + 1e-9).all() and (alike >= 0).all()
        got = attention.received(seen, path)
        for key in range(got.shape[1]):
            able = values["allowed"][:, key]
            expected = values["weights"][:, able, key].mean(-1) if able.any() else torch.zeros(config.heads)
            assert torch.allclose(got[:, key], expected.to(got.dtype))
        # One head has the whole vector as its slice; of several, each query depends on numbers beyond its own.
        sliced = attention.sliced_query(seen, path, 0, 1)
        assert torch.allclose(sliced, values["queries"][0, 1]) is (config.heads == 1)
        assert (attention.reading(seen, path, 0) > 0).all()


def test_a_share_on_chosen_keys():
    seen = recorded(Config("decoder", "pre", 2, layers=1, d_model=16, d_ff=24, vocabulary=40))
    path = "decoder.layers.0.self_attention"
    weights = seen[f"{path}.weights"].tensor
    found = attention.on_keys(seen, path, [0, 2])  # of five positions the first has no choice
    expected = torch.stack([weights[:, q, 0] + (weights[:, q, 2] if q > 1 else 0) for q in range(1, 5)]).mean(0)
    assert torch.allclose(found.share, expected)
    assert found.chance == pytest.approx((1 / 2 + 2 / 3 + 2 / 4 + 2 / 5) / 4)
    assert attention.on_keys(seen, path, []) is None
    with pytest.raises(IndexError):
        attention.on_keys(seen, path, [9])


def test_particles_and_endings_by_spelling():
    read = Tokenizer.load(checkpoints.TOKENIZER)

    def found(text):
        tokens = read.encoder_input(text)
        return {kind: [tokens[at].label for at in places] for kind, places in korean.kinds(tokens).items()}

    assert found("언니가 동생에게 책을 주었다.") == {"particle": ["가", "에게", "·책을"], "ending": ["다"]}
    assert found("뷁을 봤다") == {"particle": ["을"], "ending": ["다"]}
    assert found("비가 오면 집에 가요!") == {"particle": ["비가", "에"], "ending": ["·오면", "·가요"]}
    assert found("가 나 다 the 🤗") == {"particle": [], "ending": []}


def test_grids_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="spread has other sizes than 1 rows of 2 heads"):
        headmap_data([Question("spread", "", [[0.5, None], [1, 1]])], ["0"], (0, 0), corner="", head="head")
    assert [share(number) for number in (None, 0, 0.004, 0.626, 1, 0.999)] == ["–", "0", "0", ".63", "1", "1"]
