"""The proof is green for what the model computed, and red, at the right cell, for what it did not."""

import math

import pytest
import torch

from explorer import checkpoints
from explorer.analysis.memory import sentences
from explorer.analysis.proof import TOLERANCE, _errors, check, reference
from explorer.config import Config
from explorer.tokens import Tokenizer
from explorer.trace import trace
from tests.small import GRID, KINDS, model, named, texts

WEIGHTS = "decoder.layers.1.self_attention.weights"
MASKED = "decoder.layers.1.self_attention.masked_scores"
ACTIVATED = "decoder.layers.0.feed_forward.activated"
SMALL = Config("decoder", "pre", 4, layers=2, d_model=16, d_ff=24, vocabulary=40)


def moved(index: tuple[int, ...], to=None, by: float = 0.0):
    """An edit of one cell."""

    def edit(value, _):
        value = value.clone()
        value[index] = value[index] + by if to is None else to
        return value

    return edit


def falsified(config: Config, path: str, index: tuple[int, ...], **change):
    """A pass in which one number is not what the model computed, and which does not own up to it."""
    made, given = model(config, dtype=torch.float32), texts(config)
    false = trace(made, *given, edits={path: [moved(index, **change)]})
    false.edits = {}
    return made, false, given


@pytest.mark.parametrize("config", GRID, ids=named)
def test_a_true_pass_is_green(config):
    made, given = model(config, dtype=torch.float32), texts(config)
    proof = check(made, trace(made, *given), *given)
    assert proof.ok
    assert proof.edited == ()
    assert 0 < proof.error < TOLERANCE / 4
    assert {part.name for part in proof.parts} == {"inputs", "masked", "streams", "weights", "logits"}
    assert next(part.error for part in proof.parts if part.name == "masked") == 0


def test_every_number_is_compared():
    made, given = model(SMALL, dtype=torch.float32), texts(SMALL)
    pass_ = trace(made, *given)
    parts = {part.name: part for part in check(made, pass_, *given).parts}
    assert parts["inputs"].compared == sum(value.tensor.numel() for value in pass_.values())
    assert parts["logits"].compared == 5 * 40
    assert parts["weights"].compared == 2 * 4 * 5 * 5
    assert parts["streams"].compared == 3 * 5 * 16


def test_a_twin_may_be_kept():
    made, given = model(SMALL, dtype=torch.float32), texts(SMALL)
    pass_, twin = trace(made, *given), reference(made)
    assert check(made, pass_, *given, twin) == check(made, pass_, *given)


@pytest.mark.parametrize(
    "path, index",
    [
        ("decoder.embedding.scaled", (2, 3)),
        ("decoder.embedding.positions", (4, 15)),
        ("decoder.layers.0.self_attention.keys", (3, 1, 2)),
        (WEIGHTS, (1, 3, 2)),
        ("decoder.layers.1.self_attention.concat", (0, 9)),
        ("decoder.layers.1.feed_forward.hidden", (4, 23)),
        ("decoder.norm.variance", (1, 0)),
        ("logits", (4, 39)),
        ("probabilities", (0, 0)),
    ],
)
def test_a_false_number_is_red_and_located(path, index):
    made, false, given = falsified(SMALL, path, index, by=0.5)
    proof = check(made, false, *given)
    assert not proof.ok
    found = next(part for part in proof.parts if part.name == "inputs")
    assert (found.path, found.index) == (path, index)
    assert found.error > TOLERANCE


def test_a_false_mask_is_red():
    allowed = "decoder.layers.1.self_attention.allowed"
    made, false, given = falsified(SMALL, allowed, (0, 4), to=True)
    proof = check(made, false, *given)
    assert (proof.error, proof.where) == (math.inf, f"{allowed}[0, 4]")


def test_a_false_id_is_red_against_torch():
    """Nothing comes before an id, so all else follows from the false one; torch read the true ones."""
    made, false, given = falsified(SMALL, "decoder.embedding.ids", (3,), by=-1)
    parts = {part.name: part for part in check(made, false, *given).parts}
    assert parts["inputs"].ok
    assert not parts["streams"].ok
    assert not parts["logits"].ok
    assert parts["logits"].index[0] >= 3


def test_where_the_error_stands_is_written_as_a_cell():
    made, false, given = falsified(SMALL, "probabilities", (2, 7), by=0.5)
    assert check(made, false, *given).where == "probabilities[2, 7]"


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_an_error_the_size_of_the_tolerance_counts(kind):
    config = Config(*kind, 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
    for by, ok in ((0.5 * TOLERANCE, True), (3 * TOLERANCE, False)):
        made, false, given = falsified(config, "probabilities", (0, 1), by=by)
        assert check(made, false, *given).ok is ok


@pytest.mark.parametrize("to", [-1e9, math.nan, 0.0])
def test_a_masked_score_must_be_minus_infinity(to):
    made, false, given = falsified(SMALL, MASKED, (2, 1, 3), to=to)
    proof = check(made, false, *given)
    assert proof.error == math.inf
    assert proof.where == f"{MASKED}[2, 1, 3]"


def test_a_masked_weight_must_be_exactly_zero():
    made, false, given = falsified(SMALL, WEIGHTS, (2, 1, 3), to=1e-12)
    proof = check(made, false, *given)
    parts = {part.name: part for part in proof.parts}
    assert parts["inputs"].ok
    assert (parts["masked"].error, parts["masked"].path, parts["masked"].index) == (math.inf, WEIGHTS, (2, 1, 3))
    assert not proof.ok


@pytest.mark.parametrize("config", [config for config in GRID if config.heads == 4], ids=named)
def test_other_weights_are_red_against_torch_alone(config):
    made, given = model(config, dtype=torch.float32), texts(config)
    twin = reference(made)
    layer = getattr(made, config.stacks[-1]).layers[1]
    with torch.no_grad():
        layer.self_attention.w_q.bias.add_(0.5)
        layer.self_attention.w_k.weight.mul_(1.5)
    parts = {part.name: part for part in check(made, trace(made, *given), *given, twin).parts}
    assert parts["inputs"].ok
    assert not parts["weights"].ok
    assert f"{config.stacks[-1]}.layers.1.self_attention.weights" == parts["weights"].path
    assert not parts["logits"].ok
    assert not parts["streams"].ok


def test_with_edits_the_rest_still_follows_and_torch_checks_the_unedited_pass():
    made, given = model(SMALL, dtype=torch.float32), texts(SMALL)
    edits = {WEIGHTS: [moved((1, 3, 2), to=0.0)], ACTIVATED: [lambda value, _: value.relu()]}
    edited = trace(made, *given, edits=edits)
    assert not torch.allclose(edited["logits"].tensor, trace(made, *given)["logits"].tensor)
    proof = check(made, edited, *given)
    assert proof.ok
    assert proof.edited == (ACTIVATED, WEIGHTS)  # in the order of the pass


def test_with_edits_a_number_that_does_not_follow_is_red():
    made, given = model(SMALL, dtype=torch.float32), texts(SMALL)
    edits = {WEIGHTS: [moved((1, 3, 2), to=0.0)], "decoder.norm.mean": [moved((1, 0), by=0.5)]}
    edited = trace(made, *given, edits=edits)
    del edited.edits["decoder.norm.mean"]
    proof = check(made, edited, *given)
    assert not proof.ok
    assert proof.edited == (WEIGHTS,)
    assert proof.where == "decoder.norm.mean[1, 0]"


@pytest.mark.parametrize("path", [MASKED, WEIGHTS, "decoder.layers.1.self_attention.allowed"])
def test_an_edited_mask_is_an_edit_and_not_an_error(path):
    made, given = model(SMALL, dtype=torch.float32), texts(SMALL)
    edits = {path: [lambda value, _: torch.ones_like(value)]}
    proof = check(made, trace(made, *given, edits=edits), *given)
    assert proof.ok
    assert proof.edited == (path,)


def test_a_row_that_may_look_nowhere_follows_from_its_inputs():
    made, given = model(SMALL, dtype=torch.float32), texts(SMALL)
    edits = {"decoder.layers.1.self_attention.allowed": [lambda value, _: value & False]}
    assert check(made, trace(made, *given, edits=edits), *given).ok


@pytest.mark.parametrize("name", checkpoints.available())
def test_the_trained_models_agree_in_float32_as_the_app_runs_them(name):
    """Streams of trained models reach sizes of 50 and more; their rounding is no fault, and is far from the limit."""
    trained, read = checkpoints.load(name), Tokenizer.load(checkpoints.TOKENIZER)
    stacks = trained.config.stacks
    for english, korean in list(zip(sentences("en"), sentences("ko"), strict=True))[::20]:
        source = torch.tensor([token.id for token in read.encoder_input(english)])
        target = torch.tensor([token.id for token in read.decoder_input(korean)])
        ids = (source if "encoder" in stacks else None, target if "decoder" in stacks else None)
        assert check(trained, trace(trained, *ids), *ids).error < TOLERANCE / 2


def test_a_small_number_among_large_ones_may_be_as_inexact_as_they_are():
    row = torch.tensor([[50.0, -50.0, 0.1, 50.0], [0.1, 0.2, 0.1, 0.3], [-torch.inf, 1.0, 2.0, -torch.inf]])
    off = row + torch.tensor([0.0, 0.0, 0.001, 0.0])
    errors = _errors(off, row)
    assert errors[0, 2] < TOLERANCE < errors[1, 2] and errors[2, 2] > TOLERANCE
    assert errors[2, 0] == 0 and _errors(torch.zeros_like(row), row)[2, 0] == torch.inf
