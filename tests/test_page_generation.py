"""The page of generation: what it writes is what the model writes, a run can be rewound, branched and linked to."""

import json

import pytest
import torch
from streamlit.testing.v1 import AppTest

from explorer import checkpoints, passes
from explorer.analysis import cache, generation
from explorer.analysis.generation import Settings
from explorer.config import BOS, EOS, MAX_TOKENS
from explorer.tokens import Tokenizer
from explorer.views import saving
from explorer.views.components.writing import Branch, Choice, candidates_data, tree_data
from explorer.words import LANGUAGES, Words
from tests.visits import sound, visit

START = "Once upon a time"


def press(app: AppTest, key: str) -> AppTest:
    (button,) = [button for button in app.button if button.key == f"generation {key}"]
    return sound(button.click().run())


def said(app: AppTest) -> str:
    return "\n".join(element.value for kind in ("markdown", "caption", "info") for element in getattr(app, kind))


def component(app: AppTest, wanted: str) -> dict:
    """What the page handed to a component, told by a key of its data."""
    found = [json.loads(element.proto.json) for element in app.get("bidi_component") if element.proto.json]
    (data,) = [data for data in found if isinstance(data, dict) and wanted in data]
    return data


def shown(app: AppTest) -> list[int]:
    """The ids of the text on the screen."""
    return [chip["id"] for chip in component(app, "chips")["chips"]]


def options(app: AppTest) -> dict[str, str]:
    return app.session_state.choices.options


def expected(app: AppTest, settings: Settings, limit: int, source=None) -> list[generation.Step]:
    view = app.session_state.view
    start = [BOS] if view.own else [token.id for token in view.tokens["decoder"]]
    return list(generation.write(view.run.model, source, start, settings, limit))


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_encoder_fills_masks_and_says_so(language):
    words = Words(language)
    app = visit("generation", arch="encoder", lang=language, s="The little [MASK] was happy.")
    assert words.prose("generation")["encoder"] in said(app)
    best = app.session_state.view.trace["probabilities"].tensor[3].argmax()
    assert component(app, "bars")["bars"][0]["chip"]["id"] == best
    app = visit("generation", arch="encoder", lang=language, s="The little dog was happy.")
    assert words.prose("generation")["encoder none"] in said(app)
    (button,) = [button for button in app.button if button.key == "switch decoder"]
    assert sound(button.click().run()).session_state.view.config.architecture == "decoder"


def test_token_by_token_back_and_from_the_start():
    app = visit("generation", arch="decoder", lang="ko", s=START)
    steps = expected(app, Settings(0.0), 12)
    start = shown(app)
    for number in range(3):
        assert shown(press(app, "one")) == list(steps[number].ids)
    assert shown(press(app, "back")) == list(steps[1].ids)
    assert shown(press(app, "ten")) == list(steps[min(11, len(steps) - 1)].ids)
    assert shown(press(app, "restart")) == start


def test_settings_of_a_link_are_those_of_the_draw():
    link = {"arch": "decoder", "lang": "en", "s": START, "temp": 1.3, "k": 30, "topp": 0.9, "seed": 5}
    app = press(visit("generation", **link), "ten")
    steps = expected(app, Settings(1.3, 30, 0.9, 5), 10)
    assert shown(app) == list(steps[-1].ids)
    assert "Temperature 1.3, top-k 30, top-p 0.9, seed 5" in said(app)
    data, last = component(app, "line"), steps[-1]
    assert data["draw"] == last.draw
    assert [row["chip"]["id"] for row in data["rows"]][:10] == [one.id for one in last.candidates]
    assert [row["probability"] for row in data["rows"]][:10] == [one.probability for one in last.candidates]
    assert [row["chance"] for row in data["rows"]][:10] == [one.chance for one in last.candidates]
    assert [row["chip"]["id"] for row in data["rows"] if row["written"]] == [last.ids[-1]]
    assert shown(visit("generation", **link, wrote=options(app)["wrote"])) == shown(app), (
        "The link shows the same text."
    )


def test_a_token_chosen_by_hand_is_a_branch_and_part_of_the_link():
    app = press(visit("generation", arch="decoder", lang="en", s=START), "ten")
    start = len(app.session_state.view.tokens["decoder"])
    steps = expected(app, Settings(0.0), 4)
    other = steps[2].candidates[1].id
    link = {"arch": "decoder", "lang": "en", "s": START, "hand": f"{start + 2}.{other}"}
    mark = options(app)["wrote"].partition("-")[0]
    branched = visit("generation", **link, wrote=f"{mark}-3")
    assert shown(branched) == [*steps[1].ids, other]
    assert "1 token chosen by hand" in said(branched)
    assert "You chose it; it is number 2 by probability" in said(branched)
    rewound = press(branched, "back")
    assert shown(rewound) == list(steps[1].ids) and not options(rewound)["hand"]


def test_another_text_begins_anew():
    app = press(visit("generation", arch="decoder", lang="en", s=START), "ten")
    other = visit("generation", arch="decoder", lang="en", s="The dog", wrote=options(app)["wrote"])
    assert shown(other) == [token.id for token in other.session_state.view.tokens["decoder"]]


def test_a_stopped_run_is_labelled_partial():
    app = press(visit("generation", arch="decoder", lang="en", s=START), "one")
    mark = options(app)["wrote"].partition("-")[0]
    app = visit("generation", arch="decoder", lang="en", s=START, wrote=f"{mark}-4", halted=4)
    assert "**Partial:** stopped by you after 4 tokens" in said(app)
    assert len(shown(app)) == len(app.session_state.view.tokens["decoder"]) + 4


@pytest.mark.parametrize("architecture", ["decoder", "encoder-decoder"])
def test_what_a_cache_saves_is_counted_for_the_text_on_the_screen(architecture):
    words = Words("en")
    app = visit("generation", arch=architecture, lang="en", s="The doctor is in the kitchen.")
    if architecture == "encoder-decoder":
        assert words("generation.cache.short") in said(app)
    app = press(press(app, "one"), "one")
    ids = [id for id in shown(app) if id != EOS]
    view = app.session_state.view
    found = cache.saved(view.run.model, view.run.source, torch.tensor(ids))
    assert found.ok and f"after each of its {len(ids)} tokens" in said(app)
    assert words("generation.cache.apart").partition("**")[2][:20] not in said(app)
    every = found.all
    assert words("generation.cache.numbers", whole=every.whole, anew=every.anew, kept=every.kept) in said(app)
    assert saving.table(found.parts, words) in said(app)
    (chart,) = app.get("vega_lite_chart") or app.get("arrow_vega_lite_chart")
    for part in found.parts:
        row = f"| {words(f'generation.cache.of.{part.name}')} | {part.whole:,} | {part.anew:,} | {part.kept:,} |"
        assert row in said(app)
    told = f"**{every.multiplied_whole:,} multiplications**, and **{every.multiplied_anew:,}** with a cache"
    assert chart and told in said(app)


def test_two_ways_that_lie_apart_are_said_to(monkeypatch):
    """A cache whose positions begin one too late."""
    right = cache.sinusoids
    monkeypatch.setattr(cache, "sinusoids", lambda length, width: right(length, width).roll(1, 0))
    app = visit("generation", arch="decoder", lang="en", s="A text that no other test reads with a cache")
    assert "**The two ways lie apart.**" in said(app) and "Both ways agree" not in said(app)
    passes.saved.clear()


def test_the_limit_of_the_models_is_said():
    app = visit("generation", arch="decoder", lang="en", s="the " * 400, cut=1)
    assert len(shown(app)) == MAX_TOKENS
    assert Words("en")("generation.status.context", limit=MAX_TOKENS) in said(app)
    assert all(button.disabled for button in app.button if button.key in ("generation one", "generation end"))


def test_a_beam_search_has_no_room_behind_a_full_text():
    app = visit("generation", arch="decoder", lang="en", s=" the" * (MAX_TOKENS - 1), how="beam")
    assert Words("en")("generation.status.context", limit=MAX_TOKENS) in said(app)
    app = visit("generation", arch="decoder", lang="en", s=" the" * (MAX_TOKENS - 3), how="beam", width="2")
    assert Words("en")("generation.beam.limit", limit=2) in said(app)


@pytest.mark.parametrize("address", ({"temp": "nan"}, {"topp": "0"}))
def test_a_bad_figure_gives_way_and_is_named(address):
    app = visit("generation", arch="decoder", lang="en", s=START, **address)
    assert f"{next(iter(address))} must lie between" in said(app)


def test_a_temperature_near_nought_is_greedy():
    app = press(visit("generation", arch="decoder", lang="en", s=START, temp="1e-310"), "ten")
    assert shown(app) == list(expected(app, Settings(0.0), 10)[-1].ids)


def test_a_translation_begins_with_bos_and_its_end_is_said():
    sentence = "The doctor is in the kitchen."
    app = visit("generation", arch="encoder-decoder", lang="en", s=sentence)
    assert shown(app) == [BOS]
    app = press(app, "end")
    view = app.session_state.view
    steps = expected(app, Settings(0.0), 60, view.run.source)
    assert shown(app) == list(steps[-1].ids)
    assert ("**Finished:**" in said(app)) == (steps[-1].ids[-1] == EOS)
    assert ("**Partial:**" in said(app)) == (steps[-1].ids[-1] != EOS)


def test_the_tree_is_the_search():
    app = visit("generation", arch="encoder-decoder", lang="en", s="The doctor is in the kitchen.", how="beam", width=2)
    view = app.session_state.view
    *_, found = generation.beam(view.run.model, view.run.source, (BOS,), 2, 60)
    nodes = component(app, "nodes")["nodes"]
    assert [node["chip"]["id"] for node in nodes] == [node.id for node in found.nodes]
    best = [node["chip"]["id"] for node in nodes if node["best"]]
    assert tuple(id for id in best if id != EOS) == found.ids(found.ends[0])
    assert [node["kept"] for node in nodes] == [node.kept for node in found.nodes]


def test_candidates_lie_side_by_side():
    read = Tokenizer.load(checkpoints.TOKENIZER)
    listed = [Choice(read.token(300), 0.5, 0.6, 1), Choice(read.token(301), 0.3, 0.4, 2)]
    data = candidates_data(listed, listed[1], 0.7, True)
    assert data["line"] == [[0.0, 0.6], [0.6, 1.0]] and data["others"] == 0
    far = Choice(read.token(400), 0.001, 0.0, 90)
    assert [row["rank"] for row in candidates_data(listed, far, None, False)["rows"]] == [1, 2, 90]


def test_kept_texts_stand_above_those_passed_over():
    token = Tokenizer.load(checkpoints.TOKENIZER).token(300)
    branches = [
        Branch(0, None, 1, token, 0.2, -1.6, False, False),
        Branch(1, None, 1, token, 0.5, -0.7, True, False),
        Branch(2, 1, 2, token, 0.9, -0.4, True, True),
    ]
    nodes = tree_data(branches, [1, 2])["nodes"]
    assert [node["row"] for node in nodes] == [1, 0, 0]
    assert [node["best"] for node in nodes] == [False, True, True]


def test_torch_keeps_its_state():
    """A seeded run draws from generators of its own, so that no visitor moves another's chance."""
    before = torch.get_rng_state()
    press(visit("generation", arch="decoder", lang="en", s=START, temp=1, seed=9), "ten")
    assert torch.equal(before, torch.get_rng_state())


def test_a_word_chosen_by_hand_is_not_corrected():
    """What the page says of its second ready sentence."""
    name = "encoder-decoder-pre-4"
    if checkpoints.card(name)["objective"] == "placeholder":
        pytest.skip(f"{name} is not trained yet.")
    made, read = checkpoints.load(name), Tokenizer.load(checkpoints.TOKENIZER)
    source = torch.tensor([token.id for token in read.encoder_input("The child who found the book is happy.")])
    first = generation.step(made, source, (BOS,), Settings(0.0))
    labels = {read.token(one.id).label: one.id for one in first.candidates}
    assert read.token(first.chosen.id).label == "책을" and "밥" in labels
    *_, last = generation.write(made, source, (BOS, labels["밥"]), Settings(0.0))
    assert read.decode(last.ids).startswith("밥을") and last.stop == "end"
