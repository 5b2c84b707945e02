"""What training asks and what use sees: the losses, the shift, the masks, a batch, drift; and what a mask is for."""

import math

import pytest
import torch
from torch.nn import functional

from explorer import checkpoints
from explorer.analysis import edits, lessons
from explorer.changes import read
from explorer.config import BOS, EOS, MASK, PAD
from explorer.lesson import TRUTHS
from explorer.tokens import Tokenizer
from explorer.trace import silent, trace, unmasked
from explorer.training import evaluate, objectives
from tests.small import GRID, LEARNT, model, named, texts

READ = Tokenizer.load(checkpoints.TOKENIZER)
WRITERS = [config for config in GRID if "decoder" in config.stacks]
UNMASKED = checkpoints.UNMASKED


def encoded(text: str) -> tuple[int, ...]:
    return tuple(token.id for token in READ.decoder_input(text))


def source_of(text: str) -> torch.Tensor:
    return torch.tensor([token.id for token in READ.encoder_input(text)])


@pytest.fixture(scope="module")
def stories() -> list[lessons.Question]:
    """The English stories that ship with the project and that no model read in training, of some 90 tokens each."""
    return [lessons.next_token(encoded(text)) for text in evaluate.shipped("en")[1:]]


def test_losses_are_the_cross_entropy():
    torch.manual_seed(0)
    logits, targets = 5 * torch.randn(7, 30), [3, PAD, 9, 29, 1, PAD, 4]
    found = lessons.losses(logits, targets)
    right = functional.cross_entropy(logits, torch.tensor(targets), ignore_index=PAD, reduction="none")
    kept = [at for at, id in enumerate(targets) if id != PAD]
    assert torch.allclose(found[kept].float(), right[kept], atol=1e-6)
    assert [loss is None for loss in lessons.numbers(found)] == [id == PAD for id in targets]
    mean = functional.cross_entropy(logits, torch.tensor(targets), ignore_index=PAD)
    assert lessons.mean(found) == pytest.approx(float(mean), abs=1e-6)
    assert lessons.perplexity(lessons.blind(30)) == pytest.approx(30)
    assert lessons.mean(lessons.losses(torch.zeros(2, 30), [4, 5])) == pytest.approx(lessons.blind(30))


def test_the_questions_are_those_of_training():
    ids = (BOS, 10, 11, 12)
    assert lessons.next_token(ids) == lessons.Question(ids, (10, 11, 12, PAD))
    assert lessons.translation(ids) == lessons.Question(ids, (10, 11, 12, EOS))
    text = torch.tensor([BOS, *range(100, 160), MASK, EOS])
    for seed in range(5):
        hidden, _, chosen = objectives.masked(text.unsqueeze(0), torch.Generator().manual_seed(seed))
        asked = lessons.masked(text.tolist(), seed)
        assert list(asked.inputs) == hidden[0].tolist()
        assert asked.asked == chosen[0].nonzero().flatten().tolist()
        assert all(asked.targets[at] == text[at] for at in asked.asked)
    assert lessons.masked((BOS, 200, EOS), 0).asked == [1]
    assert lessons.masked((BOS, MASK, EOS), 0).asked == []


@pytest.mark.parametrize("config", GRID[::3], ids=named)
def test_the_loss_of_a_batch_is_that_of_training(config):
    made, (source, target) = model(config), texts(config, padding=0)
    if config.architecture == "encoder":
        questions = [lessons.masked(ids, seed) for seed, ids in enumerate((source.tolist(), source[:3].tolist()))]
        sources = []
        asked = lessons.padded([one.inputs for one in questions])
        right = lessons.padded([one.targets for one in questions])
        expected = objectives.masked_loss(made, (asked, right, right != PAD))
    elif config.architecture == "decoder":
        questions, sources = [lessons.next_token(target.tolist()), lessons.next_token(target[:3].tolist())], []
        expected = objectives.next_token_loss(made, (lessons.padded([one.inputs for one in questions]),))
    else:
        questions = [lessons.translation(target.tolist()), lessons.translation(target[:2].tolist())]
        sources = [source[:4].tolist(), source.tolist()]
        whole = lessons.padded([(*one.inputs, EOS) for one in questions])
        expected = objectives.translation_loss(made, (lessons.padded(sources), whole))
    found = lessons.batch(made, sources, questions)
    assert lessons.mean(found.losses) == pytest.approx(float(expected.detach()), abs=1e-9)
    assert found.apart < 1e-9
    assert (found.inputs == PAD).any() and found.counted != pytest.approx(lessons.mean(found.losses))


@pytest.mark.parametrize("config", WRITERS[::3], ids=named)
def test_a_text_read_at_once_costs_what_it_costs_step_by_step(config):
    made, (source, target) = model(config), texts(config, padding=0)
    question = lessons.next_token(target.tolist())
    at_once, stepwise = (read(made, source, question) for read in (lessons.all_at_once, lessons.step_by_step))
    assert torch.allclose(at_once, stepwise, atol=1e-9, equal_nan=True)
    bare = trace(made, source, target, edits.install(read("unmasked:d"), config))
    seen = lessons.all_at_once(made, source, question, unmasked)
    assert torch.allclose(seen, lessons.losses(bare["logits"].tensor, question.targets), atol=1e-9, equal_nan=True)
    assert not torch.allclose(at_once, seen, atol=1e-3, equal_nan=True)


@pytest.mark.parametrize("config", WRITERS[::3], ids=named)
def test_step_by_step_each_beginning_is_read_as_if_alone_with_the_mask_or_without(config):
    made, (source, target) = model(config), texts(config, padding=0)
    question = lessons.next_token(target.tolist())
    for record in (silent, unmasked):
        stepwise = lessons.step_by_step(made, source, question, record)
        for at in range(len(question.inputs)):
            beginning = lessons.Question(question.inputs[: at + 1], question.targets[: at + 1])
            alone = lessons.all_at_once(made, source, beginning, record)[-1]
            assert torch.allclose(stepwise[at], alone, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("name", [name for name in LEARNT if not name.startswith("encoder-p")])
def test_teacher_forcing_of_a_trained_model_equals_feeding_step_by_step(name):
    made, english = checkpoints.load(name), "The doctor is in the kitchen."
    if name.startswith("encoder-decoder"):
        source, question = source_of(english), lessons.translation(encoded(TRUTHS[english]))
    else:
        source, question = None, lessons.next_token(encoded(english))
    at_once, stepwise = (read(made, source, question) for read in (lessons.all_at_once, lessons.step_by_step))
    assert torch.allclose(at_once, stepwise, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("config", WRITERS[::5], ids=named)
def test_a_model_that_writes_the_truth_does_not_drift(config):
    made, (source, target) = model(config), texts(config, padding=0)
    ids = target[:2].tolist()
    with torch.inference_mode():
        while len(ids) < 8:
            ids.append(int(made.predict(made.vectors(source, torch.tensor(ids)))[-1].argmax()))
    if EOS in ids:
        ids = ids[: ids.index(EOS) + 1]
    same = lessons.drift(made, source, ids, 2, 99)
    assert same.apart is None and len(same.own) == len(ids) - 2
    assert same.means[0] == pytest.approx(same.means[1], abs=1e-9)
    turned = [*ids[:3], (ids[3] + 1) % config.vocabulary or 5, *ids[4:]]
    away = lessons.drift(made, source, turned, 2, 99)
    assert away.apart == 1
    for at in range(2):  # up to there the words before are the same
        assert away.own[at].best == away.forced[at].best
        assert away.own[at].loss == pytest.approx(away.forced[at].loss, abs=1e-9)
    with pytest.raises(ValueError, match="leave at least 1"):
        lessons.drift(made, source, ids, len(ids), 9)


def test_what_was_trained_without_a_mask_knows_the_answer_and_cannot_write(stories):
    bare, masked = checkpoints.load(UNMASKED), checkpoints.load("decoder-pre-4")
    for question in stories:
        short = lessons.next_token(question.inputs[:40])
        copied = lessons.mean(lessons.all_at_once(bare, None, question, unmasked))
        ordinary = lessons.mean(lessons.all_at_once(masked, None, question))
        alone = lessons.mean(lessons.step_by_step(bare, None, short, unmasked))
        assert copied < ordinary / 2
        assert alone > 2 * ordinary and alone > 8 * copied
        assert alone > lessons.blind(4096) - 1  # hardly better than guessing blindly
        text = lessons.written(bare, short.inputs, 24, unmasked)
        assert len(set(text)) <= 8 < len(set(lessons.written(masked, short.inputs, 24)))


@pytest.mark.parametrize("name", ["decoder-pre-4", "decoder-post-4"])
def test_a_decoder_gets_worse_without_the_mask_that_it_was_trained_with(name, stories):
    made = checkpoints.load(name)
    with_it, without = (
        [lessons.mean(lessons.all_at_once(made, None, question, *how)) for question in stories]
        for how in ((), (unmasked,))
    )
    assert all(after > before for before, after in zip(with_it, without, strict=True))
    assert math.fsum(without) - math.fsum(with_it) > 0.3 * len(stories)


@pytest.mark.parametrize("name", ["encoder-decoder-pre-4", "encoder-decoder-post-4"])
@pytest.mark.parametrize("english", sorted(TRUTHS))
def test_a_translator_gets_worse_without_its_mask(name, english):
    made, source, question = checkpoints.load(name), source_of(english), lessons.translation(encoded(TRUTHS[english]))
    before, after = (lessons.mean(lessons.all_at_once(made, source, question, *how)) for how in ((), (unmasked,)))
    assert after > before + 0.2


def test_the_ready_sentences_show_their_point():
    for name in ("encoder-decoder-pre-4", "encoder-decoder-post-4"):
        made, found = checkpoints.load(name), {}
        for english, korean in TRUTHS.items():
            found[english] = lessons.drift(made, source_of(english), (*encoded(korean), EOS), 1, 64)
        assert found["The doctor is in the kitchen."].apart is None
        assert found["My brother plays the piano every day."].apart == 0
        forced, own = found["A brave knight defeated the dragon."].means
        assert own > forced + 1
    text = "Once upon a time, there was a little girl named Lily. She loved to play with her dog."
    question = lessons.next_token(encoded(text))
    for name in ("decoder-pre-4", "decoder-post-4"):
        made = checkpoints.load(name)
        before, after = (lessons.mean(lessons.all_at_once(made, None, question, *how)) for how in ((), (unmasked,)))
        assert after > before + 0.2
    bare = lessons.all_at_once(checkpoints.load(UNMASKED), None, question, unmasked)
    assert lessons.mean(bare) < 0.2
