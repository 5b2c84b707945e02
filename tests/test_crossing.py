"""What a translation looks at, and what becomes of it without that."""

import pytest
import torch

from explorer import checkpoints
from explorer.analysis import crossing, edits
from explorer.analysis.generation import greedy
from explorer.config import BOS, EOS
from explorer.tokens import Tokenizer
from explorer.trace import trace
from tests.small import GRID, model, texts

CROSSING = [config for config in GRID if config.architecture == "encoder-decoder" and config.activation == "gelu"]
IDS = [config.name for config in CROSSING]


@pytest.mark.parametrize("config", CROSSING, ids=IDS)
def test_hidden_from_the_decoder_is_every_cross_attention_blocked(config):
    made, (source, target) = model(config), texts(config, padding=0)
    found = crossing.effects(made, source, target)
    usual = trace(made, source, target)["probabilities"].tensor
    assert torch.equal(found.predicted, usual.argmax(-1))
    torch.testing.assert_close(found.probability, usual.amax(-1))
    for key in (0, 3):
        changes = [
            edits.Change("block", "decoder", layer, "cross_attention", pair=(row, key))
            for layer in range(config.layers)
            for row in range(len(target))
        ]
        blocked = trace(made, source, target, edits.install(changes, config))["probabilities"].tensor
        rows = torch.arange(len(target))
        torch.testing.assert_close(found.hidden[key], blocked[rows, found.predicted])
        assert torch.equal(found.instead[key], blocked.argmax(-1))


def test_unread_is_as_if_the_token_were_padding():
    """Nothing of a padded token reaches the decoder, for every mask refuses it."""
    config = CROSSING[0]
    made, (source, target) = model(config), texts(config, padding=0)
    found = crossing.effects(made, source, target, keys=[4])
    padded = source.clone()
    padded[4] = 0
    expected = trace(made, padded, target)["probabilities"].tensor
    torch.testing.assert_close(found.unread[0], expected[torch.arange(len(target)), found.predicted])
    assert not torch.allclose(found.unread, found.hidden)


def test_batches_change_nothing(monkeypatch):
    config = CROSSING[2]
    made, (source, target) = model(config), texts(config, padding=0)
    whole = crossing.effects(made, source, target)
    monkeypatch.setattr(crossing, "AT_ONCE", 2 * len(target))
    torch.testing.assert_close(vars(crossing.effects(made, source, target)), vars(whole))


def test_refusals_name_the_reason():
    config = CROSSING[0]
    made, (source, target) = model(config), texts(config, padding=0)
    with pytest.raises(ValueError, match="at least 2"):
        crossing.effects(made, source[:1], target)
    with pytest.raises(ValueError, match="1 of 7"):
        crossing.verdict(torch.ones(5, 7), crossing.effects(made, source, target, keys=[2]), source)
    alone = next(config for config in GRID if config.architecture == "decoder")
    with pytest.raises(ValueError, match="no cross-attention"):
        crossing.effects(model(alone), source, target)
    with pytest.raises(ValueError, match="no cross-attention"):
        crossing.looks(trace(model(alone), None, target))


def test_verdict_by_hand():
    source = torch.tensor([BOS, 10, 11, EOS])
    weights = torch.tensor([[0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.8, 0.05, 0.1, 0.05]])
    hidden = torch.tensor([[0.9, 0.1, 0.9, 0.9], [0.8, 0.2, 0.8, 0.8], [0.5, 0.5, 0.49, 0.5]]).mT
    found = crossing.Effects(
        (0, 1, 2, 3), torch.tensor([5, 6, 7]), torch.tensor([0.9, 0.8, 0.5]), hidden, hidden, torch.zeros(4, 3)
    )
    said = crossing.verdict(weights, found, source)
    assert (said.same, said.other, said.none) == (1, 1, 1)
    assert (said.row, said.key, said.needed) == (1, 2, 1)  # looks at place 2 with 0.7, loses nothing by it, needs 1

    all_needed = crossing.Effects((0, 1, 2, 3), found.predicted, found.probability, 0 * hidden, 0 * hidden, hidden)
    assert crossing.verdict(weights, all_needed, source).row is None


def test_order_by_hand():
    source = torch.tensor([BOS, 10, 11, 12, EOS])
    straight = torch.eye(5)[1:4]
    assert crossing.order(straight, source) == crossing.Order(0, 3)
    assert crossing.order(straight.flip(0), source) == crossing.Order(3, 3)
    assert crossing.order(torch.eye(5)[[0, 1, 1]], source) == crossing.Order(0, 0)  # [BOS] is no word


SENTENCES = ("The doctor is in the kitchen.", "I did not buy the red car.", "The child who found the book is happy.")


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_trained_model_misleads_where_the_page_says_so(sentence):
    name = "encoder-decoder-pre-4"
    if checkpoints.card(name)["objective"] == "placeholder":
        pytest.skip(f"{name} is not trained yet.")
    made, tokenizer = checkpoints.load(name), Tokenizer.load(checkpoints.TOKENIZER)
    source = torch.tensor([token.id for token in tokenizer.encoder_input(sentence)])
    written = greedy(made, source, 40)
    assert written.finished
    target = torch.tensor([BOS, *written.ids])
    weights, found = crossing.looks(trace(made, source, target)), crossing.effects(made, source, target)
    said = crossing.verdict(weights, found, source)
    assert weights[said.row, said.key] > 0.15
    assert found.loss[said.key, said.row] < crossing.MATTERS < found.probability[said.row]
    assert said.same >= 3, "Attention tells something: several rows do need what they look at."
    assert crossing.order(weights, source).crossed > 0
