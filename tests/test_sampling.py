"""Temperature, top-k and top-p, in this order, over the whole vocabulary."""

import math

import pytest
import torch

from explorer.analysis.sampling import draw, sample

LOGITS = torch.tensor([0.5, 2.0, -1.0, 1.0, 2.0, -3.0])


def test_without_filters_it_is_the_softmax():
    found = sample(LOGITS)
    assert torch.allclose(found.shares, LOGITS.double().softmax(-1))
    assert (found.by_k, found.by_p, found.count) == (0, 0, 6)
    assert found.order.tolist() == [1, 4, 3, 0, 2, 5]


@pytest.mark.parametrize("temperature", (0.25, 1.7))
def test_temperature_divides_the_logits_before_the_softmax(temperature):
    found = sample(LOGITS, temperature)
    ratio = float(found.tempered[1] / found.tempered[0])
    assert math.isclose(ratio, math.exp((2.0 - 0.5) / temperature), rel_tol=1e-9)


@pytest.mark.parametrize(("k", "p"), [(1, 1.0), (3, 1.0), (0, 0.5), (3, 0.7), (4, 0.01), (50, 0.999)])
def test_what_is_filtered_and_what_is_kept_make_up_the_whole(k, p):
    found = sample(LOGITS, 0.8, k, p)
    assert found.count == int(found.kept.sum()) <= found.after_k
    assert math.isclose(float(found.tempered[found.kept].sum()) + found.by_k + found.by_p, 1, rel_tol=1e-9)
    assert math.isclose(float(found.shares.sum()), 1, rel_tol=1e-9)
    assert (found.shares[~found.kept] == 0).all()
    assert found.tempered[found.kept].min() >= found.tempered[~found.kept].max() if found.count < 6 else True
    if k:
        assert found.after_k == min(k, 6)


def test_top_p_keeps_the_token_that_reaches_the_share_and_none_after_it():
    found = sample(LOGITS, 1.0, 3, 0.7)
    head = found.tempered[found.order[:3]]
    head = head / head.sum()
    assert float(head[: found.count].sum()) >= 0.7 > float(head[: found.count - 1].sum())


def test_equal_logits_do_not_let_more_than_k_pass():
    assert sample(torch.zeros(10), k=4).count == 4


@pytest.mark.parametrize("wrong", [{"temperature": 0}, {"k": -1}, {"p": 0}, {"p": 1.2}])
def test_what_cannot_be_is_refused_with_its_number(wrong):
    with pytest.raises(ValueError, match=str(next(iter(wrong.values())))):
        sample(LOGITS, **wrong)


def test_only_who_is_kept_is_drawn_and_in_its_share():
    found = sample(LOGITS, 1.0, 3)
    drawn = torch.tensor([draw(found, seed) for seed in range(400)])
    assert set(drawn.tolist()) == set(found.order[:3].tolist())
    assert abs(float((drawn == 1).double().mean()) - float(found.shares[1])) < 0.1
