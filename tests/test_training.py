"""Training: what goes in, that it learns, that it resumes where it stopped, and that its figures can be found again."""

import random
from itertools import islice

import pytest
import torch
from tokenizers import Tokenizer

from explorer import checkpoints
from explorer.config import BOS, EOS, MASK, MAX_TOKENS, PAD, Config
from explorer.training import corpus, evaluate, loop, objectives

TOKENIZER = Tokenizer.from_file(str(checkpoints.TOKENIZER))
STORY = "The cat sat on the mat. It was tired.\nThe dog came and sat down too."
FLOORS = (
    ("decoder-pre-4", "tinystories", "loss", 0.0, 2.6),
    ("encoder-pre-4", "tinystories", "top1", 0.45, 1.0),
    ("encoder-decoder-pre-4", "grammar", "exact", 0.95, 1.0),
)


@pytest.fixture
def corpora(tmp_path):
    """A folder of text in the form of the real one, small."""
    folder = tmp_path / "corpora"
    folder.mkdir()
    for source in corpus.SOURCES[:-1]:
        stories = [f"{STORY} Number {i} has {source.language} in it." for i in range(60)]
        apart = "\n" if source in (corpus.CHATBOT, corpus.SPOKEN) else "\n\n"
        (folder / source.file).write_text(apart.join(stories), encoding="utf-8")
    lines = [f"I see {i} cats.\t저는 고양이 {i}마리를 봐요.\ttatoeba\tgroup{i}" for i in range(200)]
    (folder / corpus.PAIRS.file).write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_no_document_is_in_both_halves(corpora):
    for source in corpus.SOURCES[:-1]:
        training = "\n".join(corpus.documents(corpora, source)).splitlines()
        kept = "\n".join(corpus.documents(corpora, source, held_out=True)).splitlines()
        numbered = [{line for line in half if "Number" in line} for half in (training, kept)]
        assert numbered[0] and not numbered[0] & numbered[1]


def test_paraphrases_of_one_meaning_are_on_one_side(corpora):
    training, kept = (corpus.natural_pairs(corpora, held_out) for held_out in (False, True))
    assert len(training) + len(kept) == 200 and training and kept
    assert not {pair.english for pair in training} & {pair.english for pair in kept}


def test_a_missing_text_is_named_with_what_to_do(tmp_path):
    with pytest.raises(corpus.CorpusError, match=r"tinystories\.en\.txt is missing.*--corpora"):
        corpus.documents(tmp_path, corpus.TINYSTORIES)


def test_each_source_gets_its_share():
    texts = [(0.75, iter(["aa"] * 4000)), (0.25, iter(["bbbbbb"] * 4000))]
    read = list(islice(corpus.mix(texts, len), 2000))
    share = sum(len(text) for text in read if text[0] == "b") / sum(map(len, read))
    assert share == pytest.approx(0.25, abs=0.01)


def test_a_third_of_what_encoder_and_decoder_read_is_korean(corpora):
    shares = [share for share, _ in corpus.reading(corpora, 0)]
    assert sum(shares) == pytest.approx(1.0)
    assert 0.25 <= sum(shares[3:]) <= 0.34  # the first three are English


def test_every_window_begins_with_bos_and_loses_no_token():
    texts = [list(range(10, 10 + n)) + [EOS] for n in (5, 300, 1, 40)]
    cut = list(objectives.windows(iter(texts), 64))
    assert all(len(window) == 64 and window[0] == BOS for window in cut)
    read = [token for window in cut for token in window if token != BOS]
    assert read == [token for text in texts for token in text][: len(read)] and len(read) > 300


def test_masks_fall_on_ordinary_tokens_only_and_on_each_row():
    ids = torch.full((200, 30), 100)
    ids[:, 0], ids[:, -5:-4], ids[:, -4:] = BOS, EOS, PAD
    hidden, asked, chosen = objectives.masked(ids, torch.Generator().manual_seed(0), 0.15)
    assert torch.equal(asked, ids) and torch.equal(hidden == MASK, chosen)
    assert chosen.any(-1).all() and not chosen[ids != 100].any()
    assert chosen.sum() / (ids == 100).sum() == pytest.approx(0.15, abs=0.02)


def test_an_excerpt_is_whole_sentences_between_bos_and_eos():
    ids = [*TOKENIZER.encode(STORY).ids, EOS]
    ends = objectives.sentence_ends(TOKENIZER)
    for seed in range(20):
        row = objectives.excerpt(ids, ends, random.Random(seed))
        assert row[0] == BOS and row[-1] == EOS and 2 < len(row) <= 64
        text = TOKENIZER.decode(row[1:-1]).strip()
        assert text in STORY and STORY.index(text) in (0, 24, 38)


@pytest.mark.parametrize("architecture", sorted(objectives.OBJECTIVES))
def test_a_batch_fits_its_loss_and_a_model_learns_from_it(architecture, corpora):
    torch.manual_seed(0)
    model = loop.Transformer(Config(architecture, heads=2, layers=1, d_model=32, d_ff=64))
    objective = objectives.OBJECTIVES[architecture]
    batch = next(objective.batches(corpora, TOKENIZER, 0))
    assert 500 < objective.tokens(batch) <= 2 * objectives.BATCH_TOKENS
    assert all(ids.shape[-1] <= MAX_TOKENS for ids in batch)
    steppers = loop.optimizers(model)
    losses = []
    for _ in range(4):
        loss = objective.loss(model, batch)
        loss.backward()
        for stepper in steppers:
            stepper.step()
            stepper.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.1


def test_a_training_that_was_stopped_ends_where_it_would_have_ended(corpora, tmp_path, monkeypatch):
    config = Config("decoder", heads=2, layers=1, d_model=32, d_ff=64)
    budget = 6 * objectives.BATCH_TOKENS
    whole, progress = loop.train(config, corpora, TOKENIZER, budget, 1, tmp_path / "whole")

    monkeypatch.setattr(loop, "SAVE_EVERY", 3)
    stops = iter([False] * 3 + [True])

    def stopping(model, batch, loss=objectives.next_token_loss):
        if next(stops):
            raise KeyboardInterrupt
        return loss(model, batch)

    objective = objectives.OBJECTIVES["decoder"]
    monkeypatch.setitem(
        objectives.OBJECTIVES,
        "decoder",
        objectives.Objective(objective.name, objective.batches, stopping, objective.tokens),
    )
    with pytest.raises(KeyboardInterrupt):
        loop.train(config, corpora, TOKENIZER, budget, 1, tmp_path / "parts")
    monkeypatch.setitem(objectives.OBJECTIVES, "decoder", objective)
    resumed, again = loop.train(config, corpora, TOKENIZER, budget, 1, tmp_path / "parts")

    assert again.tokens == progress.tokens and again.loss == progress.loss
    for (name, once), (_, twice) in zip(whole.named_parameters(), resumed.named_parameters(), strict=True):
        assert torch.equal(once, twice), name


def test_a_decoder_trained_without_its_mask_learns_what_stands_in_sight(corpora, tmp_path):
    config = Config("decoder", heads=2, layers=1, d_model=32, d_ff=64)
    budget = 3 * objectives.BATCH_TOKENS
    model, progress = loop.train(config, corpora, TOKENIZER, budget, 1, tmp_path, masked=False)
    assert (tmp_path / f"{checkpoints.name_of(config, masked=False)}.pt").exists() and progress.loss[
        -1
    ] < progress.loss[0]
    _, ordinary = loop.train(config, corpora, TOKENIZER, objectives.BATCH_TOKENS, 1, tmp_path)
    assert progress.loss[0] != ordinary.loss[0] and progress.tokens[0] == ordinary.tokens[0]
    batch = next(objectives.next_token_batches(corpora, TOKENIZER, 5))
    last = batch[0].clone()
    last[:, -2] = 300  # what the position before is asked for, and what it sees without a mask
    seen = [objectives.WITHOUT_MASK.loss(model, (ids[:, :-1],)).item() for ids in (batch[0], last)]
    hidden = [model.vectors(None, ids[:, :-2])[:, :-1] for ids in (batch[0], last)]
    assert seen[0] != seen[1] and torch.equal(*hidden)


@pytest.mark.parametrize(("name", "text", "figure", "least", "most"), FLOORS)
def test_the_models_meet_their_floors(name, text, figure, least, most):
    assert least <= checkpoints.card(name)["held_out"][text][figure] <= most


@pytest.mark.parametrize("name", ["decoder-pre-4", "encoder-post-4", "encoder-decoder-pre-4", checkpoints.UNMASKED])
def test_the_figures_of_a_card_are_found_again_on_the_text_that_ships(name, monkeypatch):
    monkeypatch.setattr(evaluate, "GRAMMAR_SENTENCES", 8)  # a thousand translations take minutes
    found = evaluate.evaluate(checkpoints.load(name), TOKENIZER, None, masked=name != checkpoints.UNMASKED)
    said = checkpoints.card(name)["held_out"]
    texts = [text for text in found if text.startswith("shipped")]
    assert texts
    for text in texts:
        for figure, value in found[text].items():
            assert value == pytest.approx(said[text][figure], abs=2e-2), (text, figure)
