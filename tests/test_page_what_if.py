"""Changes as a choice of the whole app: the line, the link, every page; and the page that makes them and sweeps."""

import json
from urllib.parse import parse_qsl

import pytest
import torch
from streamlit.runtime.scriptrunner import StopException

from explorer import address, checkpoints, controls, passes
from explorer.analysis import edits, sweeps
from explorer.analysis.predictions import prediction
from explorer.analysis.stream import stages
from explorer.changes import Change, read, write
from explorer.config import Config
from explorer.trace import trace
from explorer.views.changes import in_words
from explorer.views.components import switches
from explorer.words import LANGUAGES, Words
from tests.small import KINDS, model, texts
from tests.visits import sound, turn, visit, widget
from tests.visits import texts as said

PAGES = [name for name, _ in controls.PAGES]
TEXT = {
    "encoder": "The girl was happy because [MASK] had a new ball.",
    "decoder": "The girl was happy because",
    "encoder-decoder": "The doctor is in the kitchen.",
}
OTHER = {
    "encoder": "The boy was happy because [MASK] had a new ball.",
    "decoder": "The boy was happy because",
    "encoder-decoder": "The doctor is in the garden.",
}
EDITS = {  # a change of every kind, the last three at home in every architecture only by their stack
    "encoder": "off:e0a.h1;scale:e1f:0.5;block:e0a:3>1;unscaled:e1a;relu:e;unlinked:e2f;unplaced:e",
    "decoder": "off:d0a.h1;mean:d1f.n17;only:d1a:3>1;unmasked:d2a;relu:d0f;distance:d1a.h0;unplaced:d",
    "encoder-decoder": "off:d0x.h1;scale:e1f:-2.0;block:d0x:3>1;unscaled:d1x;relu:d;alike:d1x;unlinked:d2x",
}


def opened(architecture="decoder", page="what_if", **more):
    return visit(page, **{"arch": architecture, "s": TEXT[architecture], "lang": "en", **more})


def message(app, key: str) -> dict:
    """The data of the component that was mounted under a key."""
    found = [each.proto for each in app.get("bidi_component") if key in each.proto.id]
    assert len(found) == 1, [each.proto.id for each in app.get("bidi_component")]
    return json.loads(found[0].json)


def labels(app) -> list[str]:
    return [button.label for button in app.button]


# The link


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_with_changes_and_is_checked(page):
    for architecture in ("encoder", "decoder", "encoder-decoder")[PAGES.index(page) % 2 :]:
        stack = architecture[:7]
        patch = f"patch:{stack}.layers.1.feed_forward_residual.sum:2"
        app = opened(architecture, page, edit=f"{EDITS[architecture]};{patch}", s2=OTHER[architecture], norm="pre")
        view = app.session_state.view
        assert len(view.fitting) == 8 and view.run.changes == f"{EDITS[architecture]};{patch}"
        assert passes.proof(view.choices.model, *view.run.ids, view.run.changes, view.run.other).ok
        words = Words("en")
        assert f":violet[**{words('edits')}**]" in said(app) and words.prose("frame")["proof edited"] in said(app)


def test_a_link_holds_the_changes_and_the_second_sentence():
    app = opened(edit=EDITS["decoder"], s2=OTHER["decoder"])
    link = dict(parse_qsl(app.session_state.address))
    assert (link["edit"], link["s2"]) == (EDITS["decoder"], OTHER["decoder"])
    chosen = address.Choices(edits=tuple(read(EDITS["decoder"])), other="x & y")
    again, notices = address.read(dict(parse_qsl(address.write(chosen))), {}, ["en"], address.Choices())
    assert (again.edits, again.other, notices) == (chosen.edits, "x & y", [])


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_cannot_be_read_in_a_link_is_left_out_and_said(language):
    app = opened("decoder", "start", edit="off:d0a;bogus:*x*;scale:d0f:inf;;off:d1f.n3", lang=language)
    assert write(app.session_state.choices.edits) == "off:d0a;off:d1f.n3"
    told = app.info[0].value.replace("\\", "").replace("\u2060", "")
    assert "bogus:*x*" in told and "scale:d0f:inf" in told and "off:d0a" not in told


def test_more_changes_than_a_visit_keeps_are_left_out_and_said():
    app = opened("decoder", "start", edit=";".join(f"off:d0f.n{n}" for n in range(40)))
    assert len(app.session_state.choices.edits) == address.MOST_EDITS
    assert "off:d0f.n32" in app.info[0].value.replace("\\", "").replace("\u2060", "")


@pytest.mark.parametrize(
    "bad", ["--3", "9" * 5_000, "<b>", "off", "off:d9a", "off:d0a.h99", "block:d0a:99>0", "block:d0a:0>0",
            "patch:logits", "patch:*x*:9", "scale:d0a:1e38", "unlinked:e", "only:d0a:0>5",
            "patch:decoder.embedding.ids", "off:d0f.n512"],
)  # fmt: skip
@pytest.mark.parametrize("page", ["what_if", "values"])
def test_changes_that_cannot_be_made_do_no_harm(page, bad):
    app = opened("decoder", page, edit=f"{bad};off:d1a.h0")
    assert app.session_state.view.run.changes == "off:d1a.h0"


# The line


def test_changes_are_undone_one_by_one_and_together_and_the_bits_return():
    plain = opened("decoder", "start").session_state.view.trace
    app = opened("decoder", "start", edit="off:d0a;scale:d1f:0.5;off:d2a.h1")
    assert not edits.same(plain, app.session_state.view.trace)
    sound(app.button(key="undo 1").click().run())
    assert app.session_state.view.run.changes == "off:d0a;off:d2a.h1"
    assert "edit=off%3Ad0a%3Boff%3Ad2a.h1" in app.session_state.address
    sound(app.button(key="undo all").click().run())
    assert edits.same(plain, app.session_state.view.trace) and "edit=" not in app.session_state.address
    assert Words("en")("edits") not in said(app)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_change_that_changes_nothing_says_so(language):
    app = opened("decoder", "start", edit="gelu:d0f;scale:d1f:1.0;off:d0a", lang=language)
    words = Words(language)
    nothing = "; ".join(in_words(change, words, ["decoder"]) for change in read("gelu:d0f;scale:d1f:1.0"))
    assert words("edits.idle", said=nothing) in said(app)


def test_what_does_not_fit_another_model_or_text_is_kept_aside_and_comes_back():
    words = Words("en")
    app = opened("decoder", "start", edit="off:d3a;block:d0a:5>3;off:d0a.h1")
    assert app.session_state.view.fitting == (0, 1, 2)
    sound(app.text_area(key="s").set_value("The").run())
    assert app.session_state.view.run.changes == "off:d3a;off:d0a.h1"
    aside = in_words(Change("block", "decoder", 0, "self_attention", pair=(5, 3)), words, ["decoder"])
    assert words("edits.aside", said=aside) in said(app)
    sound(app.segmented_control(key="arch").set_value("encoder-decoder").run())
    assert app.session_state.view.run.changes == "block:d0a:5>3;off:d0a.h1", "three layers, and a longer translation"
    sound(app.segmented_control(key="arch").set_value("encoder").run())
    assert app.session_state.view.run.changes == "" and not app.session_state.view.edited
    sound(app.segmented_control(key="arch").set_value("decoder").run())
    sound(app.text_area(key="s").set_value(TEXT["decoder"]).run())
    assert app.session_state.view.fitting == (0, 1, 2) and len(app.session_state.choices.edits) == 3


def test_a_patch_without_a_second_sentence_says_what_it_lacks():
    change, words = "patch:decoder.layers.0.feed_forward_residual.sum:2", Words("en")
    app = opened("decoder", edit=change)
    lonely = in_words(read(change)[0], words, ["decoder"])
    assert words("edits.lonely", said=lonely) in said(app) and not app.session_state.view.edited
    sound(widget(app.text_input, "what if other").set_value(OTHER["decoder"]).run())
    assert app.session_state.view.run.changes == change and words("edits.lonely", said=lonely) not in said(app)


def test_two_visitors_one_with_changes():
    one, other = opened("decoder", "start", edit="off:d"), opened("decoder", "start")
    plain = passes.run("decoder-pre-4", *other.session_state.view.run.ids).trace
    assert edits.same(other.session_state.view.trace, plain) and not other.session_state.choices.edits
    sound(turn(one, "what_if"))
    sound(turn(other, "what_if"))
    assert one.session_state.view.run.changes == "off:d" and not other.session_state.view.edited
    assert edits.same(other.session_state.view.trace, plain)
    assert not edits.same(one.session_state.view.trace, plain)
    assert edits.same(one.session_state.view.plain.trace, plain)


@pytest.mark.parametrize(
    ("page", "change"),
    [
        ("heads", "off:d0a.h1"), ("feed_forward", "off:d0f"), ("attention", "off:d0a.h1"),
        ("attention", "unscaled:d0a"), ("attention", "unmasked:d0a"),
        ("residuals", "unlinked:d0f"), ("embedding", "unplaced:d"),
        ("cross_attention", "off:d0x.h1"),
    ],
)  # fmt: skip
def test_what_a_page_draws_can_be_changed_there(page, change):
    architecture = "encoder-decoder" if page == "cross_attention" else "decoder"
    app = opened(architecture, page, head=1)
    sound(app.button(key=f"what if {change}").click().run())
    assert app.session_state.view.run.changes == change and Words("en")("edits") in said(app)
    if change != "unmasked:d0a":  # without a mask the page has nothing to say of it
        sound(app.button(key=f"what if {change}").click().run())
        assert not app.session_state.view.edited


@pytest.mark.parametrize("page", ["generation", "cross_attention", "feed_forward", "residuals", "prediction"])
def test_pages_say_where_they_leave_the_changes_out(page):
    architecture = "encoder" if page == "prediction" else "encoder-decoder"
    edit = "off:e0a.h0" if page == "prediction" else "off:d0a.h0"
    told = Words("en")("edits.unedited")
    assert told in said(opened(architecture, page, edit=edit)) and told not in said(opened(architecture, page))


def test_a_changed_number_is_marked_in_its_arithmetic():
    cell = {"v": "decoder.layers.0.self_attention.heads", "c": "1,2,0"}
    told = Words("en")("arithmetic.edited")
    assert told in said(opened("decoder", "values", edit="off:d0a.h1", **cell))
    assert told not in said(opened("decoder", "values", edit="off:d1a.h1", **cell))


def test_the_gate_that_is_drawn_is_the_one_that_runs():
    app = opened("decoder", "feed_forward", edit="relu:d0f")
    assert message(app, "ff layer")["gate"] == "relu"
    app = opened("decoder", "feed_forward", edit="relu:d0f", gate="gelu")
    assert message(app, "ff layer")["gate"] == "gelu"


# The page


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("architecture", TEXT)
def test_before_and_after_are_the_two_passes(architecture, language):
    app = opened(architecture, edit=EDITS[architecture], lang=language, norm="post")
    view = app.session_state.view
    before, after = (one.trace for one in (view.plain, view.run))
    data = message(app, "what if outcomes")
    assert data["rows"]
    for row in data["rows"]:
        for run, name in ((before, "before"), (after, "after")):
            assert row[name] == float(run["probabilities"].tensor[view.focus, row["id"]])
        moved = after["logits"].tensor[view.focus, row["id"]] - before["logits"].tensor[view.focus, row["id"]]
        assert row["moved"] == switches.signed(float(moved))
    assert data["chosen"] == prediction(before, view.focus, 1).best[0][0]
    for stack in view.config.stacks:
        drawn = message(app, f"what if depth {stack}")
        found = edits.shifts(before, after, stack)
        places = [column["at"] for column in drawn["columns"]]
        assert [[cell[0] for cell in row] for row in drawn["rows"]] == [shift.share[places].tolist() for shift in found]


@pytest.mark.parametrize("architecture", TEXT)
@pytest.mark.parametrize("over", ["trained", "changed"])
def test_the_numbers_on_the_model_are_those_of_its_sweep(architecture, over):
    edit = f"off:{architecture[0]}0f" if architecture != "encoder-decoder" else "off:d0x"
    app = opened(architecture, edit=edit, over=over)
    view, token = app.session_state.view, message(app, "what if outcomes")["chosen"]
    made = read(edit) if over == "changed" else []
    tries = [*sweeps.sublayers(view.config), *sweeps.heads(view.config)]
    start = edits.Run(view.run.model, view.run.source, view.run.target)
    expected = {
        write([step.change]).removeprefix("off:"): step.effect
        for step in sweeps.sweep(start, tries, view.focus, token, made)
    }
    data = message(app, "what if model")
    drawn = [sub for lane in data["lanes"] for layer in lane["layers"] for sub in layer["subs"]]
    drawn += [head for sub in drawn for head in sub["heads"]]
    assert {one["code"]: one["effect"] for one in drawn} == expected
    assert [one["code"] for one in drawn if one["off"]] == [edit.removeprefix("off:")]
    assert data["limit"] == max(map(abs, expected.values()))
    if over == "changed":
        assert expected[edit.removeprefix("off:")] == 0


def test_a_sweep_that_is_interrupted_keeps_what_it_has_says_so_and_goes_on(monkeypatch):
    tried, sweep = [], sweeps.sweep

    def halting(*given):
        for step in sweep(*given):
            tried.append(step.change)
            yield step
            if len(tried) == 5:
                raise StopException

    monkeypatch.setattr(sweeps, "sweep", halting)
    app = opened("decoder", sweep="off")
    words = Words("en")
    assert words("what_if.sweep.model", n=24) in labels(app) and not tried
    app.button(key="sweep model").click().run()
    assert len(tried) == 5 and words("generation.stop") in labels(app)
    app.button(key="sweep stop").click().run()
    sound(app)
    assert words("what_if.partial", n=5, all=24) in said(app) and words("what_if.go_on") in labels(app)
    drawn = [sub for layer in message(app, "what if model")["lanes"][0]["layers"] for sub in layer["subs"]]
    assert sum(one["effect"] is not None for one in drawn) == 5
    sound(app.button(key="sweep model").click().run())
    assert len(tried) == len({write([change]) for change in tried}) == 24
    assert words("what_if.go_on") not in labels(app)


def test_the_neurons_of_a_layer(monkeypatch):
    neurons = sweeps.neurons
    monkeypatch.setattr(sweeps, "neurons", lambda *where: neurons(*where)[:20])
    app = opened("decoder", place="d1f", sweep="neurons")
    view, data = app.session_state.view, message(app, "what if neurons")
    token = message(app, "what if outcomes")["chosen"]
    tries = neurons(view.config, "decoder", 1)[:20]
    steps = sweeps.sweep(edits.Run(view.run.model, None, view.run.target), tries, view.focus, token)
    assert [one["effect"] for one in data["neurons"]] == [step.effect for step in steps]
    sizes = [abs(one["effect"]) for one in data["strongest"]]
    assert len(sizes) == switches.STRONGEST and sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_a_patched_position_by_layer_map(architecture):
    app = opened(architecture, s2=OTHER[architecture], sweep="patch")
    view, data = app.session_state.view, message(app, "what if patches")
    here, there = view.trace, view.second.trace
    token = message(app, "what if outcomes")["chosen"]
    changes = sweeps.patches(here, there, view.stack)
    start = edits.Run(view.run.model, view.run.source, view.run.target, there)
    steps = sweeps.sweep(start, changes, view.focus, token)
    effects = {(step.change.path, step.change.position): step.effect for step in steps}
    rows = stages(here)
    assert [[cell[0] for cell in row] for row in data["rows"]] == [
        [effects[stage.path, column["at"]] for column in data["columns"]] for stage in rows
    ]
    # At the entrance all of the difference sits at the word that differs, at the end where the prediction is made.
    whole = float((there["logits"].tensor - here["logits"].tensor)[view.focus, token])
    assert effects[rows[0].path, 2] == pytest.approx(whole, abs=1e-3)
    assert effects[rows[-1].path, view.focus] == pytest.approx(whole, abs=1e-3)
    assert all(effects[rows[-1].path, at] == 0 for at in range(len(view.tokens[view.stack])) if at != view.focus)


def test_pressing_and_multiplying():
    app = opened("decoder", place="d1a.h2")
    pills = next(group for group in app.button_group if "off" in str(group.options))
    sound(pills.set_value(["off"]).run())
    assert write(app.session_state.choices.edits) == "off:d1a.h2"
    sound(widget(app.number_input, "what if factor").set_value(0.5).run())
    assert write(app.session_state.choices.edits) == "scale:d1a.h2:0.5", "one takes the place of the other"
    sound(widget(app.number_input, "what if factor").set_value(1.0).run())
    assert app.session_state.choices.edits == ()


def test_ready_changes_and_pairs():
    words = Words("en")
    for architecture, name in (
        ("encoder", "unplaced"),
        ("decoder", "self_attention"),
        ("encoder-decoder", "cross_attention"),
    ):
        app = opened(architecture)
        sound(app.button(key=f"try {name}").click().run())
        assert words.prose("what_if")[f"try {name}"] in said(app) and app.session_state.view.edited
        sound(app.button(key="pair 0").click().run())
        assert app.session_state.view.second is not None and widget(app.text_input, "what if other").value


@pytest.mark.parametrize("text", ["a", "word " * 250, "*x* $y$ ![z](http://q) <b>:smile:", "한글 test 🤗 뷁"])
def test_any_text(text):
    app = opened("decoder", s=text, s2=text, edit="off:d0a.h1", place="d0f")
    assert app.session_state.view.run.changes == "off:d0a.h1"
    opened("encoder-decoder", s=text, s2="*", edit="off:d0x", place="d0x", side="decoder")


# What the page says of the models


@pytest.mark.parametrize("name", [name for name in checkpoints.available() if name.endswith("-4")])
def test_without_attention_only_the_token_and_its_place_count(name):
    made = checkpoints.load(name)
    stack, kind = made.config.stacks[-1], "self_attention"
    ids, others = torch.tensor([1, 300, 301, 302, 305]), torch.tensor([1, 700, 900, 302, 305])
    given = (ids, others)
    if len(made.config.stacks) > 1:
        kind, given = "cross_attention", (torch.tensor([1, 300, 2]), torch.tensor([1, 900, 901, 2]))
    changes = [Change("off", stack, layer, kind) for layer in range(made.config.layers)]
    installed = edits.install(changes, made.config)
    seen = []
    for one in given:
        read_here = {"encoder": (one, None), "decoder": (None, one)}.get(made.config.architecture, (one, ids))
        seen.append(trace(made, *read_here, installed)["logits"].tensor)
    same = slice(3, None) if kind == "self_attention" else slice(None)
    assert torch.equal(seen[0][same], seen[1][same])


def test_a_decoders_vectors_before_the_change_are_what_they_were():
    config = Config("decoder", "pre", 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
    made, ids = model(config), texts(config, padding=0)
    before, after = (trace(made, *ids, edits.install(read(text), config)) for text in ("", "block:d1a:3>1"))
    for shift in edits.shifts(before, after):
        still = 3 if shift.layer == 1 else len(shift.size)
        assert shift.size[:still].count_nonzero() == 0
    assert shift.size[3] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_fits_is_found(kind):
    config = Config(*kind, 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
    made, ids, stack = model(config, dtype=torch.float32), texts(config, padding=0), config.stacks[-1]
    letter, last = stack[0], len(texts(config)[-1 if stack == "decoder" else 0])
    asked = read(
        f"off:{letter}0a;off:{letter}9a;scale:{letter}0f:1e39;block:{letter}0a:{last}>0;patch:logits;off:{letter}1f.n3"
    )
    assert edits.fitting(edits.Run(made, *ids), asked) == [0, 5]
    assert edits.fitting(edits.Run(made, *ids), [asked[0], asked[5]]) == [0, 1]


@pytest.mark.parametrize("text", [
    "off:d0a.h1;off:d0a.h1", "scale:d0f:2.0;scale:d0f:0.5", "relu:d0f;gelu:d0f", "gelu:d0f;relu:d0f;gelu:d0f",
    "off:d0a;block:d0a:3>1", "only:d0a:3>1;block:d0a:3>2", "unmasked:d0a;alike:d0a;distance:d0a", "off:d1f;off:d1f.n3",
])  # fmt: skip
def test_what_changes_nothing_is_what_can_be_left_out(text):
    config = Config("decoder", "pre", 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
    made, ids, changes = model(config), texts(config, padding=0), read(text)
    whole = trace(made, *ids, edits.install(changes, config))
    expected = [
        number
        for number in range(len(changes))
        if edits.same(whole, trace(made, *ids, edits.install([*changes[:number], *changes[number + 1 :]], config)))
    ]
    assert edits.idle(edits.Run(made, *ids), changes) == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_change_has_words(language):
    everything = (
        "off:d0a;off:e1f;off:d;scale:d0a.h1:0.5;mean:d1f.n3;block:d0a.h1:3>1;only:e0a:3>1;unscaled:e;unmasked:d0a;"
        "unlinked:d1f;relu:d0f;gelu:e;alike:d0a.h1;distance:d;embeddings:d1x;unplaced:e;patch:decoder.embedding.output;"
        "patch:encoder.layers.0.self_attention_residual.sum:4;patch:*x*"
    )
    for stacks in (("decoder",), ("encoder", "decoder")):
        found = [in_words(change, Words(language), stacks) for change in read(everything)]
        assert len(set(found)) == len(found) and "\\*x" in found[-1]
