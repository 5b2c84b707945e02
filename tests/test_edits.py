"""Edits do what they say and no more, and survive being written down."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from explorer import checkpoints
from explorer.analysis import attention, edits, rules, sweeps
from explorer.analysis.stream import last_stack, stages, sublayers
from explorer.changes import ACTIONS, RULES, Change, read, write
from explorer.config import Config
from explorer.trace import trace
from tests.small import GRID, KINDS, model, named, texts


def small(architecture="decoder", norm="pre", activation="gelu"):
    return Config(architecture, norm, 2, layers=2, d_model=16, d_ff=24, vocabulary=40, activation=activation)


def edited(config, text, other=None, padding=0):
    return trace(model(config), *texts(config, padding=padding), edits.install(read(text), config, other))


def plain(config):
    return trace(model(config), *texts(config, padding=0))


FIRST = "decoder.layers.0.self_attention"
EVERYTHING = [
    "off:d0a",
    "off:e1f",
    "off:d",
    "off:d1x.h1",
    "off:d1f.n17",
    "scale:d0a.h1:0.5",
    "scale:e0f:-2.0",
    "mean:d1f.n3",
    "mean:d1a.h0",
    "block:d0a.h1:3>1",
    "block:d1x:0>6",
    "only:e0a:3>1",
    "unscaled:d0a.h1",
    "unscaled:e",
    "unmasked:d0a",
    "unlinked:d1f",
    "relu:d0f",
    "gelu:e",
    "alike:d0a.h1",
    "distance:d",
    "embeddings:d1x",
    "unplaced:e",
    "patch:decoder.layers.1.feed_forward.output",
    "patch:encoder.layers.0.self_attention_residual.sum:4",
]


# Texts


def test_every_action_is_among_the_examples():
    assert {text.split(":")[0] for text in EVERYTHING} == set(ACTIONS)
    assert (*RULES, "learned") == rules.RULES


@pytest.mark.parametrize("text", EVERYTHING)
def test_texts_are_read_and_written_the_same(text):
    assert write(read(text)) == text


def test_several_changes_are_one_text():
    text = ";".join(EVERYTHING)
    changes = read(text)
    assert len(changes) == len(EVERYTHING)
    assert write(changes) == text
    assert read("") == [] and read(" ; ") == [] and write([]) == ""


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_factor_keeps_every_digit(factor):
    change = Change("scale", "decoder", 0, "feed_forward", factor=factor)
    assert read(write([change])) == [change]


@given(st.text())
def test_any_text_is_read_or_refused_in_one_sentence(text):
    try:
        changes = read(text)
    except ValueError as error:
        assert str(error).endswith(".") and "\n" not in str(error).replace(repr(text), "")
    else:
        assert read(write(changes)) == changes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delete:d0a", "'delete:d0a' does not begin with an action; choose one of off, scale"),
        ("off:q0a", "'off:q0a' names no place; write one like d, d0a"),
        ("off", "'off' names no place"),
        ("off:d0a:3", "'off:d0a:3' says '3' after its place, and off needs nothing there"),
        ("scale:d0a:much", "'scale:d0a:much' needs a number to multiply by"),
        ("scale:d0a:inf", "needs a number to multiply by"),
        ("block:d0a:3", "'block:d0a:3' needs a query and a key"),
        ("block:d:3>1", "'block:d:3>1' needs a layer's attention for its place"),
        ("block:d0f:3>1", "does not fit: block is for self_attention and cross_attention"),
        ("relu:d0a", "does not fit: relu is for feed_forward"),
        ("unlinked:d0a.h1", "names a head, but unlinked is not done to a head"),
        ("off:d0f.h1", "names a head, but off is not done to a head there"),
        ("relu:d0f.n1", "names a neuron, but relu is not done to a neuron there"),
        ("unplaced:d0a", "positions are a whole stack's; write unplaced:d"),
        ("patch:", "'patch:' names no value"),
        ("patch:logits:x", "'patch:logits:x' needs a position as a whole number in the place of 'x'"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(text, message):
    with pytest.raises(ValueError) as error:
        read(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("off:e0a", "off:e0a names the encoder, and this model has only the decoder."),
        ("off:d0x", "off:d0x names cross-attention, which only the decoder of an encoder-decoder has."),
        ("off:d2a", "off:d2a names layer 2, and this model has 2, from 0 to 1."),
        ("off:d0a.h2", "off:d0a.h2 names head 2, and this model has 2, from 0 to 1."),
        ("off:d0f.n24", "off:d0f.n24 names neuron 24, and this model has 24, from 0 to 23."),
        ("patch:logits", "patch:logits takes a value from a second sentence; give one."),
        ("block:d0a:5>1", "block:d0a:5>1 names a pair beyond the 5 queries and 5 keys of this text."),
        ("block:d0a:0>0", "block:d0a:0>0 leaves query 0 nothing to look at; leave it at least one key."),
        ("only:d0a:1>3", "only:d0a:1>3 leaves query 1 nothing to look at; leave it at least one key."),
    ],
)
def test_what_a_model_does_not_have_is_refused_in_one_sentence(text, message):
    with pytest.raises(ValueError) as error:
        edited(small(), text)
    assert str(error.value) == message


# What they do


@pytest.mark.parametrize("config", [config for config in GRID if config.norm == "pre"], ids=named)
def test_with_every_sublayer_off_a_pre_norm_stream_is_the_embedding_bit_for_bit(config):
    seen = edited(config, ";".join(f"off:{stack[0]}" for stack in config.stacks))
    for stack in config.stacks:
        entrance = seen[f"{stack}.embedding.output"].tensor
        for stage in stages(seen, stack):
            assert torch.equal(seen[stage.path].tensor, entrance)


@pytest.mark.parametrize("config", [config for config in GRID if config.norm == "post"], ids=named)
def test_with_every_sublayer_off_a_post_norm_stream_is_the_embedding_through_its_norms(config):
    seen = edited(config, ";".join(f"off:{stack[0]}" for stack in config.stacks))
    for stack in config.stacks:
        x = seen[f"{stack}.embedding.output"].tensor
        for sub in sublayers(seen, stack):
            gain, bias = (seen.parameters[f"{sub.residual}.norm.{name}"].detach() for name in ("weight", "bias"))
            x = gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt() + bias
            assert torch.allclose(seen[sub.leaves].tensor, x, atol=1e-10)


@pytest.mark.parametrize("name", checkpoints.available())
def test_with_every_sublayer_off_in_the_models_that_ship(name):
    shipped = checkpoints.load(name)
    changes = [Change("off", stack) for stack in shipped.config.stacks]
    seen = trace(shipped, *texts(shipped.config, padding=0), edits.install(changes, shipped.config))
    stack = last_stack(seen)
    same = torch.equal(seen[stages(seen)[-1].path].tensor, seen[f"{stack}.embedding.output"].tensor)
    assert same == (shipped.config.norm == "pre")


@pytest.mark.parametrize("kind", KINDS)
def test_blocking_every_pair_but_one_gives_weight_one(kind):
    config = small(*kind)
    for path in attention.attentions(plain(config)):
        stack, _, layer, sublayer = path.split(".")
        place = f"{stack[0]}{layer}{ {'self_attention': 'a', 'cross_attention': 'x'}[sublayer] }"
        weights = edited(config, f"only:{place}:3>1")[f"{path}.weights"].tensor
        assert weights[:, 3, 1].tolist() == [1, 1] and weights[:, 3].sum(-1).tolist() == [1, 1]
        others = [key for key in range(4 if stack == "decoder" and sublayer == "self_attention" else 7) if key != 1]
        if stack == "encoder" or sublayer == "cross_attention":
            others = [key for key in range(weights.shape[-1]) if key != 1]
        text = ";".join(f"block:{place}.h0:3>{key}" for key in others)
        weights = edited(config, text)[f"{path}.weights"].tensor
        assert weights[0, 3, 1] == 1 and weights[1, 3, 1] < 1


@pytest.mark.parametrize("kind", KINDS)
def test_patching_a_sentence_with_itself_changes_nothing_bit_for_bit(kind):
    config = small(*kind)
    made, ids = model(config), texts(config, padding=0)
    before = trace(made, *ids)
    whole = [Change("patch", path=path) for path in before]
    for change in (*whole, *sweeps.patches(before, before, last_stack(before))):
        assert edits.same(before, trace(made, *ids, edits.install([change], config, before))), change


@pytest.mark.parametrize("kind", KINDS)
def test_undoing_returns_the_same_bits(kind):
    config = small(*kind)
    made, ids = model(config), texts(config, padding=0)
    before = trace(made, *ids)
    assert not edits.same(before, trace(made, *ids, edits.install(read(f"off:{config.stacks[-1][0]}1f"), config)))
    assert edits.same(before, trace(made, *ids, edits.install([], config)))


def test_switching_off_scaling_and_levelling():
    before = plain(small())
    heads, activated, output = f"{FIRST}.heads", "decoder.layers.1.feed_forward.activated", f"{FIRST}.output"
    off = edited(small(), "off:d0a.h1")[heads].tensor
    assert off[1].count_nonzero() == 0 and torch.equal(off[0], before[heads].tensor[0])
    assert torch.equal(edited(small(), "scale:d0a:0.5")[output].tensor, before[output].tensor * 0.5)
    neuron = edited(small(), "mean:d1f.n17")[activated].tensor
    assert torch.allclose(neuron[:, 17], before[activated].tensor[:, 17].mean())
    assert torch.equal(neuron[:, :17], before[activated].tensor[:, :17])
    level = edited(small(), "mean:d0a.h0")[heads].tensor
    assert torch.allclose(level[0], before[heads].tensor[0].mean(0)) and torch.equal(level[1], before[heads].tensor[1])
    assert torch.allclose(edited(small(), "mean:d0a")[output].tensor, before[output].tensor.mean(0))


def test_blocking_one_pair_shares_its_weight_out_among_the_others():
    before = plain(small())[f"{FIRST}.weights"].tensor
    after = edited(small(), "block:d0a.h1:3>1")[f"{FIRST}.weights"].tensor
    assert torch.equal(after[0], before[0]) and after[1, 3, 1] == 0
    assert torch.allclose(after[1, 3, 0] / after[1, 3, 2], before[1, 3, 0] / before[1, 3, 2])
    assert float(after[1, 3].sum()) == pytest.approx(1)


def test_removing_scaling_mask_positions_and_residual_connection():
    seen = edited(small(), "unscaled:d0a.h1")
    assert torch.equal(seen[f"{FIRST}.scores"].tensor[1], seen[f"{FIRST}.raw_scores"].tensor[1])
    assert torch.equal(seen[f"{FIRST}.scores"].tensor[0], seen[f"{FIRST}.raw_scores"].tensor[0] / math.sqrt(8))
    assert (edited(small(), "unmasked:d0a")[f"{FIRST}.weights"].tensor > 0).all()
    seen = edited(small(), "unplaced:d")
    assert torch.equal(seen["decoder.embedding.output"].tensor, seen["decoder.embedding.scaled"].tensor)
    seen = edited(small(), "unlinked:d0a")
    assert torch.equal(seen[f"{FIRST}_residual.sum"].tensor, seen[f"{FIRST}.output"].tensor)


def test_without_positions_an_encoder_cannot_tell_the_order():
    config = small("encoder")
    made, changes = model(config), edits.install(read("unplaced:e"), config)
    ids = torch.tensor([1, 9, 5, 30, 2])
    order = torch.tensor([0, 3, 1, 2, 4])
    straight, shuffled = (trace(made, read, edits=changes)["logits"].tensor for read in (ids, ids[order]))
    assert torch.allclose(straight[order], shuffled, atol=1e-12)
    assert not torch.allclose(*(trace(made, read)["logits"].tensor[-1] for read in (ids, ids[order])))


def test_activations_are_swapped_for_each_other():
    for own, other in (("gelu", "relu"), ("relu", "gelu")):
        config = small(activation=own)
        seen, twin = edited(config, f"{other}:d"), small(activation=other)
        assert torch.equal(seen["logits"].tensor, plain(twin)["logits"].tensor)
        assert edits.same(edited(config, f"{own}:d"), plain(config))


def test_a_neuron_that_is_off_stays_off_under_another_activation():
    path = "decoder.layers.0.feed_forward.activated"
    for text in ("off:d0f.n3;relu:d0f", "relu:d0f;off:d0f.n3"):
        seen = edited(small(), text)[path].tensor
        assert seen[:, 3].count_nonzero() == 0 and (seen >= 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_installed_as_weights(rule):
    seen = edited(small(), f"{rule}:d0a.h1")
    assert torch.equal(seen[f"{FIRST}.weights"].tensor[1], rules.weights(seen, FIRST, rule))
    everywhere = edited(small("encoder-decoder"), f"{rule}:d")
    for path in ("decoder.layers.1.self_attention", "decoder.layers.0.cross_attention"):
        assert torch.equal(everywhere[f"{path}.weights"].tensor[0], rules.weights(everywhere, path, rule))


def test_patching_one_position_and_all():
    config, made = small(), model(small())
    here, there = torch.tensor([1, 9, 5, 30]), torch.tensor([1, 9, 22, 30])
    other = trace(made, None, there)
    path = "decoder.layers.0.feed_forward_residual.sum"
    one = trace(made, None, here, edits.install([Change("patch", path=path, position=2)], config, other))
    assert torch.equal(one[path].tensor[2], other[path].tensor[2])
    assert not torch.equal(one[path].tensor[3], other[path].tensor[3]), "position 3 has read position 2 before"
    whole = trace(made, None, here, edits.install([Change("patch", path=path)], config, other))
    assert torch.equal(whole["logits"].tensor, other["logits"].tensor)


def test_patching_between_sentences_that_do_not_fit():
    config, made = small(), model(small())
    here, other = torch.tensor([1, 9, 5, 30]), trace(model(small()), None, torch.tensor([1, 9, 5]))

    def patch(text):
        return trace(made, None, here, edits.install(read(text), config, other))

    for text, message in (
        ("patch:logits", r"needs as many tokens in both: here it is \(4, 40\), in the second \(3, 40\)\."),
        ("patch:logits:3", r"names a position beyond the 4 tokens here or the 3 there\."),
        (f"patch:{FIRST}.weights:1", r"needs as many tokens in both: \(2, 4\) here, \(2, 3\) there\."),
        ("patch:decoder.median", r"names no value of the second sentence's pass\."),
    ):
        with pytest.raises(ValueError, match=message):
            patch(text)
    assert patch("patch:logits:2")["logits"].tensor.shape == (4, 40)


def test_what_changes_nothing_is_found():
    config = small()
    changes = read("off:d0a.h1;gelu:d0f;unmasked:d1a;scale:d1f:1.0;off:d0a;off:d1f.n2")
    found = edits.idle(edits.Run(model(config), *texts(config, padding=0)), changes)
    assert found == [1, 3], "the head is off with its layer, but its own vectors still differ"
    encoder = small("encoder")
    assert edits.idle(edits.Run(model(encoder), *texts(encoder, padding=0)), read("unmasked:e")) == [0]


def test_the_change_through_depth():
    before, after = plain(small()), edited(small(), "off:d1a")
    found = edits.shifts(before, after)
    assert [shift.size.count_nonzero() > 0 for shift in found] == [False, False, False, True, True]
    path = found[-1].path
    difference = after[path].tensor[2] - before[path].tensor[2]
    assert float(found[-1].size[2]) == pytest.approx(float(difference.norm()))
    assert float(found[-1].share[2]) == pytest.approx(float(difference.norm() / before[path].tensor[2].norm()))
    with pytest.raises(ValueError, match="5 and 3 tokens"):
        edits.shifts(before, trace(model(small()), None, torch.tensor([1, 2, 3])))


@pytest.mark.parametrize("kind", KINDS)
def test_sweeps_try_every_head_sublayer_and_neuron(kind):
    config = small(*kind)
    made, ids = model(config), texts(config, padding=0)
    before = float(plain(config)["logits"].tensor[-1, 7])
    attentions = {"encoder": 2, "decoder": 2, "encoder-decoder": 6}[kind[0]]
    stack = config.stacks[-1]
    for tries, count in (
        (sweeps.heads(config), attentions * 2),
        (sweeps.sublayers(config), attentions + 2 * len(config.stacks)),
        (sweeps.neurons(config, stack, 1), 24),
    ):
        steps = list(sweeps.sweep(edits.Run(made, *ids), tries, -1, 7))
        assert [step.done for step in steps] == list(range(1, count + 1)) and {step.total for step in steps} == {count}
        last = trace(made, *ids, edits.install([tries[-1]], config))["logits"].tensor[-1, 7]
        assert steps[-1].logit == float(last) and steps[-1].effect == float(last) - before
        assert steps[-1].effect != 0


def test_a_sweep_over_other_changes_can_be_stopped():
    config = small()
    made, ids = model(config), texts(config, padding=0)
    changes = read("off:d0a")
    going = sweeps.sweep(edits.Run(made, *ids), sweeps.sublayers(config), -1, 7, changes)
    first = next(going)
    assert (first.done, first.total, first.effect) == (1, 4, 0), "what is off already changes nothing"
    assert next(going).effect != 0
    going.close()


def test_the_patching_map_ends_where_the_other_sentence_does():
    made = model(small())
    here, there = torch.tensor([1, 9, 5, 30]), torch.tensor([1, 9, 22, 30])
    before, other = trace(made, None, here), trace(made, None, there)
    tries = sweeps.patches(before, other, "decoder")
    steps = list(sweeps.sweep(edits.Run(made, None, here, other), tries, -1, 7))
    effects = {(step.change.path, step.change.position): step.effect for step in steps}
    whole = float(other["logits"].tensor[-1, 7] - before["logits"].tensor[-1, 7])
    assert effects["decoder.embedding.output", 2] == pytest.approx(whole), "the swapped word is all that differs"
    assert effects[stages(before)[-1].path, 3] == pytest.approx(whole), "the last vector is all that predicts"
    assert {effect for (_, place), effect in effects.items() if place < 2} == {0}
