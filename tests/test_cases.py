"""What went wrong for users of tools like this one, by kind: numbers, words, choices, links, caches shared by readers.

Most kinds are tested where the part is tested that they concern; here is what concerns several parts.
"""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import nn

import explorer.trace
from explorer import changes, controls, passes
from explorer.analysis import edits
from explorer.config import BOS, Config
from explorer.transformer import LayerNorm
from explorer.words import LANGUAGES, Words
from tests.small import GRID, model, named, texts
from tests.visits import ROOT, sound, turn, visit
from tests.visits import texts as said

PAGES = [name for name, _ in controls.PAGES]


def plain(text: str) -> str:
    """What a reader sees of Markdown that shows a text exactly."""
    return re.sub(r"\\(.)", r"\1", text.replace("\u2060", ""))


# Numbers


@pytest.mark.parametrize("config", GRID[::3], ids=named)
def test_huge_scores_leak_nothing_through_the_masks(config):
    """Queries and keys a thousand times as large, masks of order and of padding together."""
    made = model(config, dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if ".w_q." in name or ".w_k." in name:
                parameter.mul_(1000)
    seen = explorer.trace.trace(made, *texts(config, padding=3))
    for path in (path for path in seen if path.endswith("attention.weights")):
        weights, allowed = seen[path].tensor, seen[path.replace("weights", "allowed")].tensor.bool()
        assert (weights[~allowed.expand_as(weights)] == 0).all() and weights.isfinite().all()
        assert torch.allclose(weights.sum(-1), torch.ones(()), atol=1e-5)
        if path.startswith("decoder") and "self" in path:
            assert (weights[:, 0, 0] == 1).all() and not weights[:, 0, 1:].any()
    assert seen["probabilities"].tensor.isfinite().all()


def test_a_norm_of_equal_and_of_tiny_numbers():
    config = Config(heads=2, d_model=16, d_ff=24)
    norm, torchs = LayerNorm(config), nn.LayerNorm(16, eps=config.epsilon)
    with torch.no_grad():
        for own, other in zip(norm.parameters(), torchs.parameters(), strict=True):
            own.copy_(torch.randn(16))
            other.copy_(own)
    silent = explorer.trace.silent
    assert torch.equal(norm(torch.full((2, 16), 3.0), silent), torchs.bias.expand(2, 16))
    tiny = torch.randn(2, 16) * 1e-6
    assert torch.allclose(norm(tiny, silent), torchs(tiny), atol=1e-6)


# Words and choices


def test_one_token_and_one_head_on_every_page():
    app = visit(PAGES[0], arch="encoder-decoder", norm="pre", heads=1, s="a", t=".", layer=2)
    for page in PAGES:
        sound(turn(app, page))
        view = app.session_state.view
        assert view.config.heads == 1 and [len(tokens) for tokens in view.tokens.values()] == [3, 2]


def test_equal_words_stay_apart_whatever_else_is_chosen():
    app = visit("start", arch="decoder", s="The the the the", at=3, lang="en")
    tokens = app.session_state.view.tokens["decoder"]
    assert [token.label for token in tokens] == ["⟨bos⟩", "The", "·the", "·the", "·the"] and tokens[1].id != tokens[
        2
    ].id
    for page in ("attention", "heads", "residuals", "feed_forward", "prediction", "rules", "compare"):
        sound(turn(app, page))
        for key, value in (
            ("layer", 2),
            ("norm", "post"),
            ("lang", "ko"),
            ("norm", "pre"),
            ("layer", 1),
            ("lang", "en"),
        ):
            if page == "attention":  # the others share these controls; one round shows that they hold the choice
                sound(app.segmented_control(key=key).set_value(value).run())
        assert app.session_state.view.focus == 3


def test_a_chosen_cell_stays_when_something_else_is_chosen():
    path = "decoder.layers.1.self_attention.weights"
    app = visit("values", arch="decoder", s="The cat sat.", layer=1, v=path, c="1,3,2", lang="en")
    for key, value in (("lang", "ko"), ("norm", "post"), ("norm", "pre"), ("lang", "en")):
        sound(app.segmented_control(key=key).set_value(value).run())
        assert f"{path}[1, 3, 2]" in said(app)


# Links

FOREIGN = {
    "<b>x</b>": 1,
    "**x**": 1,
    "$\\alpha$": 1,
    "![i](http://e.org/i.png)": 1,
    "9" * 5_000: 1,
    "헤드 🤗": 1,
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("given", FOREIGN)
def test_a_foreign_link_opens_with_what_is_nearest_and_says_so(given, language):
    names = ("arch", "norm", "heads", "layer", "at", "v")
    app = visit("values", lang=language, s="The cat sat.", **dict.fromkeys(names, given))
    view = app.session_state.view
    assert view.config.name == "decoder-pre-4" and view.layer == 0
    told = plain(app.info[0].value)
    assert told.count(given[:30]) == len(names) and "9" * 50 not in told
    sound(app.segmented_control(key="layer").set_value(1).run())
    assert not app.info  # what the reader does now is no matter of the link


@pytest.mark.parametrize(
    ("page", "asked"),
    [
        ("values", {"at": "40", "c": "1,99,2", "v": "decoder.layers.0.self_attention.weights"}),
        ("feed_forward", {"at": "40", "neuron": "512", "p": "logit"}),
        ("prediction", {"token": "4096", "p": "logits", "pc": "1,5000", "in": "output"}),
    ],
)
def test_what_this_text_or_model_does_not_have_is_said(page, asked):
    app = visit(page, arch="decoder", s="The cat sat.", lang="en", **asked)
    told = plain(app.info[0].value)
    there = {"v", "in"} if page == "values" else {"p", "in"} if page == "prediction" else set()
    assert all(asked[name] in told for name in asked.keys() - there)
    sound(app.run())
    assert plain(app.info[0].value) == told  # a run that the reader did not ask for takes nothing away


def test_a_link_that_says_a_thing_twice():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.query_params["arch"], app.query_params["s"] = ["encoder", "decoder"], ["One.", "Two."]
    app.query_params["x<y"] = ["1", "2"]
    sound(app.run())
    assert app.session_state.view.config.architecture == "decoder" and app.text_area(key="s").value == "Two."
    told = plain(app.info[0].value)
    assert "encoder" in told and "One." in told and "x<y" in told


# Readers who share one process


def test_a_pass_is_made_once_however_often_the_reader_clicks(monkeypatch):
    made = []
    trace = explorer.trace.trace

    def counted(model, source=None, target=None, edits=None):
        if edits is None:
            made.append((id(model), *(None if ids is None else tuple(ids.tolist()) for ids in (source, target))))
        return trace(model, source, target, edits)

    monkeypatch.setattr(explorer.trace, "trace", counted)
    passes.run.clear()
    app = visit("start", arch="decoder", s="Nobody has typed this before.", lang="en")
    for page in ("start", "attention", "feed_forward", "values", "attention"):
        turn(app, page)
        for layer in (1, 2, 3, 2, 0):
            sound(app.segmented_control(key="layer").set_value(layer).run())
        sound(app.segmented_control(key="lang").set_value("ko").run())
        sound(app.segmented_control(key="lang").set_value("en").run())
    assert made and len(made) == len(set(made))


def test_two_readers_one_of_whom_changes_the_model():
    """They go through all pages in turn: each sees their own numbers, and the model that they share stays as it was."""
    shared = passes.model("decoder-pre-4")
    before = {name: parameter.clone() for name, parameter in shared.named_parameters()}
    asked = "off:d0a.h1;scale:d1f:0.5;relu:d2f"
    one = visit(PAGES[0], arch="decoder", norm="pre", s="The cat sat.", edit=asked)
    other = visit(PAGES[0], arch="decoder", norm="pre", s="The dog ran.", lang="ko")
    for number, page in enumerate(PAGES):
        sound(turn(one, page))
        sound(turn(other, PAGES[-1 - number]))
        for app, text, made in ((one, "The cat sat.", asked), (other, "The dog ran.", "")):
            view = app.session_state.view
            assert (app.text_area(key="s").value, view.run.changes) == (text, made)
            cold = edits.install(changes.read(made), view.config, None) if made else None
            assert edits.same(view.trace, explorer.trace.trace(shared, None, view.run.target, cold))
        assert not edits.same(one.session_state.view.trace, one.session_state.view.plain.trace)
    assert passes.model("decoder-pre-4") is shared and not shared.training
    assert all(torch.equal(before[name], parameter) for name, parameter in shared.named_parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in shared.modules())


def test_two_threads_find_their_own_passes():
    """The caches that the readers share, asked at the same time for passes with changes and without."""
    names = ["decoder-pre-4", "decoder-post-4"]
    asked = [
        (names[n % 2], (BOS, *range(300 + n, 306 + n)), ("", "off:d1a.h2", "scale:d0f:2.0")[n % 3]) for n in range(24)
    ]
    passes.run.clear()
    passes.edited.clear()

    def found(one):
        name, ids, made = one
        return passes.edited(name, (), ids, made) if made else passes.run(name, (), ids)

    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(found, asked))
    for (name, ids, made), run in zip(asked, together, strict=True):
        cold = edits.install(changes.read(made), run.config, None) if made else None
        assert edits.same(run.trace, explorer.trace.trace(passes.model(name), None, torch.tensor(ids), cold))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_of_a_link_are_there(language):
    words = Words(language)
    assert all(
        words.has(f"address.{name}") for name in ("s", "t", "lang", "arch", "norm", "heads", "layer", "head", "at")
    )
