"""The page of the trainings: the cards' figures, models on the way, and the habits of heads."""

import pytest
import torch

from explorer import checkpoints, passes
from explorer.analysis.attention import measures
from explorer.analysis.habits import habits
from explorer.analysis.predictions import followed, loss
from explorer.config import ARCHITECTURES, kind_of
from explorer.trace import trace
from explorer.transformer import Transformer
from explorer.views import learning
from explorer.words import LANGUAGES, Words
from tests.small import GRID, model, named, texts
from tests.visits import texts as written
from tests.visits import visit

SENTENCE = "The cat sat on the [MASK]."


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_and_language(architecture, language):
    app = visit("learning", arch=architecture, lang=language, s=SENTENCE, share="0.1", apart="heads")
    words, said = Words(language), written(app).replace("\N{NO-BREAK SPACE}", " ")
    for name in checkpoints.available():
        card = checkpoints.card(name)
        text, measure = learning.TEXTS[card["config"]["architecture"]][1].get("english", ("grammar", "exact"))
        figure = card["held_out"][text][measure]
        assert f"| {figure:.2f} |" in said if measure == "loss" else f"| {100 * figure:.1f} % |" in said
    assert said.count(f"| {words('learning.missing')} |") == 24 - len(checkpoints.available())


@pytest.mark.parametrize("share", ["0", "0.01", "0.1", "1"])
def test_a_stage_shows_the_model_on_the_way(share):
    app = visit("learning", arch="decoder", lang="en", s="Once upon a time", share=share, norm="post")
    view = app.session_state.view
    found = passes.growing_run("decoder-pre-4", float(share), *view.run.ids).trace
    assert f"{loss(followed(found)):.2f}" in written(app)
    best = int(found["probabilities"].tensor[view.focus].argmax())
    stages = [passes.growing_run("decoder-pre-4", float(one), *view.run.ids) for one in ("0", "0.01", "0.1", "1")]
    chances = [f"{float(one.trace['probabilities'].tensor[view.focus, best]):.3f}" for one in stages]
    assert " | ".join(chances) in written(app)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_models_learn_from_stage_to_stage(architecture):
    """The untrained model is the one that the training's seed makes, and the likelihood of a text grows on the way."""
    name = f"{architecture}-pre-4"
    torch.manual_seed(checkpoints.card(name)["seed"])
    fresh = Transformer(passes.model(name).config)
    for (_, one), (_, other) in zip(fresh.named_parameters(), passes.growing(name, 0).named_parameters(), strict=True):
        assert torch.equal(one, other)
    read = passes.tokenizer()
    english, korean = "The doctor is in the kitchen.", "의사는 부엌에 있어요."
    source = torch.tensor([token.id for token in read.encoder_input(english)])
    target = torch.tensor([token.id for token in read.decoder_input(korean)])
    ids = {"encoder": (source, None), "decoder": (None, target), "encoder-decoder": (source, target)}[architecture]
    if architecture == "encoder":
        asked = source.clone()
        asked[3] = 3
        losses = [
            -float(trace(passes.growing(name, share), asked, None)["probabilities"].tensor[3, source[3]].log())
            for share in (0, 0.01, 0.1, 1)
        ]
    else:
        losses = [loss(followed(trace(passes.growing(name, share), *ids))) for share in (0, 0.01, 0.1, 1)]
    assert losses[0] > 6 and losses[-1] < min(losses[:-1])


@pytest.mark.parametrize("config", GRID[::2], ids=named)
def test_habits_are_those_of_the_heads(config):
    seen = trace(model(config), *texts(config))
    kind = f"{config.stacks[-1]}.self_attention"
    found = habits(seen, kind)
    rows = [row for row in measures(seen) if f"{row.stack}.{row.kind}" == kind]
    assert found.most["first"] == max(row.first for row in rows)
    assert found.spread == pytest.approx(sum(row.spread for row in rows) / len(rows))
    assert (found.overlap is None) == (config.heads == 1)


def test_curves_without_a_figure_by_position_are_left_out():
    assert learning.positions({"x": {"config": {"architecture": "decoder"}, "held_out": {}}}, Words("en")) is None


def test_what_the_table_bears_is_counted():
    """Made-up figures: of losses less is better, of shares more; the first of two alike is kept."""

    def card(name: str, figure: float) -> tuple[str, dict]:
        architecture, norm, heads = kind_of(name)
        text, measure = next(iter(learning.TEXTS[architecture][1].values()))
        config = {"architecture": architecture, "norm": norm, "heads": heads}
        return name, {"config": config, "held_out": {text: {measure: figure}}}

    losses = {"decoder-pre-1": 2.0, "decoder-pre-4": 1.5, "decoder-post-1": 1.9, "decoder-post-4": 1.9}
    shares = {"encoder-pre-1": 0.2, "encoder-pre-4": 0.5, "encoder-post-1": 0.1, "encoder-pre-8": 0.4}
    cards = dict(card(*one) for one in {**losses, **shares}.items()) | {"encoder-post-4": None}
    assert learning.pairs(cards) == (2, 3)
    assert learning.best_heads(cards) == {
        ("decoder", "pre"): 4, ("decoder", "post"): 1, ("encoder", "pre"): 4, ("encoder", "post"): 1,
    }  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_what_the_table_bears(language):
    cards = {name: checkpoints.card(name) for name in checkpoints.available()}
    better, of = learning.pairs(cards)
    assert Words(language)("learning.pairs", n=better, all=of) in written(visit("learning", lang=language, s=SENTENCE))
