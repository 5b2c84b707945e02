"""The page on tokens and embeddings: its numbers are the trace's, and what it says of vectors and lengths holds."""

import json
import re

import pytest
import torch

from explorer import passes
from explorer.analysis import embedding, length, memory
from explorer.config import ARCHITECTURES, Config
from explorer.trace import trace
from explorer.words import LANGUAGES, Words
from tests.small import KINDS, model, recorded
from tests.visits import sound, texts, visit

TEXT = "The dog saw the cat and the cat saw a dog."


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_lengths_neighbours_and_sizes_are_the_models(architecture, language):
    side = {"side": "encoder", "from": 3} if architecture == "encoder-decoder" else {}
    app = sound(visit("embedding", arch=architecture, s=TEXT, at=3, lang=language, **side))
    view, words, said = app.session_state.view, Words(language), texts(app)
    stack = view.config.stacks[0]
    for name in ("tokens", "scaled", "positions", "output"):
        vector = view.trace[f"{stack}.embedding.{name}"].tensor[3]
        assert words("embedding.length_of", length=f"{float(vector.norm()):.2f}") in said
    bars = [json.loads(each.proto.json) for each in app.get("bidi_component") if "nearest" in each.proto.id][0]["bars"]
    id = view.tokens[stack][3].id
    assert [(bar["chip"]["id"], bar["share"]) for bar in bars] == [
        (one.id, one.cosine) for one in embedding.nearest(view.run.model.embedding, id)
    ]
    total = sum(each.numel() for each in view.run.model.parameters())
    row = next(line for line in said.splitlines() if line.startswith(f"| {words('embedding.grows.parameters')}"))
    assert re.findall(r"[\d,]{5,}", row) == [f"{total:,}"] * 3
    plane = embedding.plane(view.trace, stack)
    assert words("embedding.explained", share=f"{sum(plane.explained):.0%}") in said


def test_two_of_the_same_are_compared():
    app = sound(visit("embedding", arch="decoder", s=TEXT, at=4, lang="en"))  # `the`, again at 7
    view = app.session_state.view
    first, *_, last = embedding.alike(view.trace, 4, 7)
    assert f"**{first:.2f}** at the entrance" in texts(app) and f"**{last:.2f}** after the last layer" in texts(app)


@pytest.mark.parametrize("step", ["tokens", "scaled", "positions", "output"])
def test_a_clicked_number_opens_its_arithmetic(step):
    app = sound(visit("embedding", arch="decoder", s=TEXT, at=2, cell=f"{step},7"))
    assert f"`decoder.embedding.{step}[2, 7]`" in texts(app)


def test_links_to_what_is_not_there_open_with_what_is():
    app = sound(
        visit("embedding", arch="encoder-decoder", s=TEXT, stage="9", cell="nonsense,500", side="x", **{"from": "-"})
    )
    assert not app.error and "arithmetic" not in texts(app)


@pytest.mark.parametrize("text", ["a", "word " * 250, "*x* $y$ ![z](http://q) <b>:smile:", "한글 test 🤗 뷁"])
def test_any_text(text):
    app = sound(visit("embedding", arch="decoder", s=text))
    count = len(app.session_state.view.tokens["decoder"])
    assert (Words("en")("embedding.unwritten", n=count) in texts(app)) is (count > 48)


def test_far_places_are_measured_when_asked():
    app = sound(visit("embedding", arch="encoder-decoder", s=TEXT, lang="en"))
    before = len(app.get("vega_lite_chart"))
    next(button for button in app.button if button.label == Words("en")("embedding.measure")).click()
    sound(app.run())
    assert len(app.get("vega_lite_chart")) == before + 1
    assert [one.sentences for one in passes.far("encoder-decoder-pre-4")] == list(length.STRUNG)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_the_same_in_every_text_and_place(kind):
    """Steps 1 and 2 depend on the token alone, step 3 on the place alone; with equal places the sums are equal too."""
    seen = recorded(Config(*kind, 2, layers=1, d_model=16, d_ff=24, vocabulary=40))
    made = model(Config(*kind, 2, layers=1, d_model=16, d_ff=24, vocabulary=40))
    ids = torch.tensor([1, 7, 7, 9])
    for stack in made.config.stacks:
        other = trace(made, *(ids if s in made.config.stacks else None for s in ("encoder", "decoder")))
        value = {
            name: other[f"{stack}.embedding.{name}"].tensor for name in ("tokens", "scaled", "positions", "output")
        }
        assert torch.equal(value["tokens"][1], value["tokens"][2]) and torch.equal(
            value["scaled"][1], value["scaled"][2]
        )
        assert not torch.equal(value["output"][1], value["output"][2])
        assert torch.equal(value["positions"], seen[f"{stack}.embedding.positions"].tensor[:4])
        assert torch.allclose(value["positions"].norm(dim=-1), torch.tensor(8.0, dtype=torch.float64).sqrt())


def test_alike_starts_at_the_entrance_and_refuses_what_is_not_there():
    seen = recorded(Config("decoder", "pre", 2, layers=2, d_model=16, d_ff=24, vocabulary=40))
    found = embedding.alike(seen, 1, 3)
    x = seen["decoder.embedding.output"].tensor
    assert found[0] == pytest.approx(float(torch.cosine_similarity(x[1], x[3], dim=0))) and len(found) == 5
    assert embedding.alike(seen, 2, 2) == pytest.approx([1.0] * 5)
    with pytest.raises(ValueError, match="5 tokens has no position 9"):
        embedding.alike(seen, 1, 9)


class Told(torch.nn.Module):
    """A stand-in for a model that knows every token up to a place and nothing beyond."""

    def __init__(self, architecture: str, until: int, vocabulary: int = 9):
        super().__init__()
        self.config = Config(architecture, vocabulary=vocabulary)
        self.until, self.vocabulary = until, vocabulary

    def vectors(self, source, target):
        ids = source if target is None else target
        self.read = (source, target)
        return torch.stack([torch.arange(len(ids)), ids], -1)

    def predict(self, vectors):
        place, id = vectors.unbind(-1)
        answer = {"encoder": torch.full_like(id, 4), "decoder": (id - 3) % 4 + 4, "encoder-decoder": (id - 3) % 4 + 4}
        logits = torch.zeros(len(id), self.vocabulary)
        known = place < self.until
        logits[known, answer[self.config.architecture][known]] = 50.0
        return logits


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_the_loss_rises_where_the_model_stops_knowing(architecture):
    """Each place asks for its own token: nothing is off by one, and stretches begin and end where they say."""
    text = ([4] * 4 if architecture == "encoder" else [4, 5, 6, 7]) * 150  # 4 5 6 7 4 5: each token says which is next
    found = length.losses(Told(architecture, 128), text)
    assert [(one.first, one.last) for one in found] == [(at, at + 63) for at in range(0, 512, 64)]
    unknown = float(torch.tensor(9.0).log())
    for one in found:
        if architecture == "encoder" or one.first:  # after BOS nothing says which token is first
            assert one.loss == pytest.approx(0 if one.last < 128 else unknown, abs=1e-5), one


def test_strung_sentences_are_the_same_ones_each_time():
    told = Told("encoder-decoder", 30)
    found = length.strung(
        told, lambda text: [4 + i % 4 for i in range(len(text.split()))], ["a b"] * 60, ["c d e f"] * 60
    )
    assert [(one.sentences, one.source) for one in found] == [(n, 2 + 2 * n) for n in length.STRUNG]
    assert [one.tokens for one in found] == [240 + 60 // n for n in length.STRUNG]  # each text has its EOS
    with pytest.raises(ValueError, match="2 sentences and 1 translations"):
        length.strung(told, str.split, ["a", "b"], ["c"])


def test_short_texts_are_refused():
    with pytest.raises(ValueError, match="8 tokens; 512"):
        length.losses(Told("decoder", 9), [4] * 8)


def test_the_bundled_sentences_reach_far_enough():
    text = " ".join(memory.sentences("en"))
    assert len(passes.tokenizer().encode(text)) >= length.REACH
