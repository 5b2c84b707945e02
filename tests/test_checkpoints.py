"""The models that ship: files, cards, digests, and what happens when one is damaged."""

import json
import shutil

import pytest
import torch

from explorer import checkpoints
from explorer.config import ARCHITECTURES, NORMS, model_name
from tests.small import LEARNT

NAMES = checkpoints.available()


def test_the_models_that_the_app_begins_with_are_there():
    expected = {model_name(kind, norm, 4) for kind in ARCHITECTURES for norm in NORMS}
    assert expected <= set(NAMES) <= set(checkpoints.MODELS)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_loads_with_weights_that_are_trained_and_finite(name):
    model, card = checkpoints.load(name), checkpoints.card(name)
    assert model.config.name == name and not model.training
    assert card["budget_tokens"] >= 5_000_000
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert card["curves"]["loss"][-1] < card["curves"]["loss"][0]


def test_the_models_with_the_norm_first_learnt():
    assert [name for name in NAMES if "-pre-" in name] == [name for name in LEARNT if "-pre-" in name]


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_what_the_model_read_and_what_it_scores(name):
    card = checkpoints.card(name)
    assert card["data"] and all(source["title"] and source["licence"] for source in card["data"])
    assert {"shipped", "grammar"} <= {text.partition("_")[0] for text in card["held_out"]}


@pytest.fixture
def folder(tmp_path):
    for path in checkpoints.FOLDER.glob("decoder-pre-4.*"):
        shutil.copy(path, tmp_path)
    return tmp_path


def test_a_missing_weights_file_is_named_with_the_command_that_restores_it(folder):
    (folder / "decoder-pre-4.safetensors").unlink()
    with pytest.raises(checkpoints.CheckpointError, match=r"decoder-pre-4\.safetensors is missing.*git checkout"):
        checkpoints.load("decoder-pre-4", folder)


def test_a_truncated_weights_file_is_refused_with_its_size(folder):
    path = folder / "decoder-pre-4.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(checkpoints.CheckpointError, match="1,000 bytes"):
        checkpoints.load("decoder-pre-4", folder)


def test_an_altered_weights_file_is_refused(folder):
    path = folder / "decoder-pre-4.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(checkpoints.CheckpointError, match="not the file that its card describes"):
        checkpoints.load("decoder-pre-4", folder)


@pytest.mark.parametrize("text", ["{", "", "[]", "{}", '{"config": {"heads": "4"}, "sha256": ""}', '{"config": {}}'])
def test_a_card_that_describes_no_model_is_refused(folder, text):
    (folder / "decoder-pre-4.json").write_text(text, encoding="utf-8")
    with pytest.raises(checkpoints.CheckpointError, match="cannot be read"):
        checkpoints.load("decoder-pre-4", folder)


def test_weights_of_another_shape_than_the_card_says_are_refused(folder):
    path = folder / "decoder-pre-4.json"
    card = json.loads(path.read_text(encoding="utf-8"))
    card["config"]["layers"] = 3
    path.write_text(json.dumps(card), encoding="utf-8")
    with pytest.raises(checkpoints.CheckpointError, match="does not fit its card's configuration"):
        checkpoints.load("decoder-pre-4", folder)


def test_weights_of_another_width_than_the_card_says_are_refused(folder):
    path = folder / "decoder-pre-4.json"
    card = json.loads(path.read_text(encoding="utf-8"))
    card["config"]["d_ff"] = 256
    path.write_text(json.dumps(card), encoding="utf-8")
    with pytest.raises(checkpoints.CheckpointError, match=r"does not fit its card's configuration \(.*w_1"):
        checkpoints.load("decoder-pre-4", folder)


def test_the_card_of_another_model_is_refused(folder):
    (folder / "decoder-pre-4.json").rename(folder / "decoder-post-4.json")
    with pytest.raises(checkpoints.CheckpointError, match=r"decoder-post-4\.json is the card of another model"):
        checkpoints.load("decoder-post-4", folder)


def test_other_files_of_the_folder_are_no_models(folder):
    (folder / "my-own-notes.json").write_text("{}", encoding="utf-8")
    assert checkpoints.available(folder) == ["decoder-pre-4"]


def test_weights_are_what_was_saved(tmp_path):
    model = checkpoints.load("decoder-pre-4")
    checkpoints.save(model, {}, tmp_path)
    again = checkpoints.load("decoder-pre-4", tmp_path)
    for (name, kept), (_, loaded) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert torch.equal(kept, loaded), name


def test_the_decoder_without_a_mask_says_so_and_is_not_among_the_others():
    name = checkpoints.UNMASKED
    card, twin = checkpoints.card(name), checkpoints.card(checkpoints.TWIN)
    assert name not in NAMES and card["masked"] is False and "without the mask" in card["objective"]
    for same in ("config", "seed", "rates", "data", "licence"):
        assert card[same] == twin[same]
    assert all(parameter.isfinite().all() for parameter in checkpoints.load(name).parameters())
    assert card["curves"]["loss"][-1] < 1.5 < card["curves"]["loss"][0]
    seen = twin["curves"]
    assert min(loss for tokens, loss in zip(seen["tokens"], seen["loss"], strict=True) if tokens <= 10**6) > 3.5
    for text, figures in card["held_out"].items():
        assert figures["loss"] < 0.7 * twin["held_out"][text]["loss"]


def test_a_card_of_a_model_without_a_mask_is_no_other_models(folder):
    path = folder / "decoder-pre-4.json"
    card = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**card, "masked": False}), encoding="utf-8")
    with pytest.raises(checkpoints.CheckpointError, match="card of another model, decoder-pre-4-unmasked"):
        checkpoints.load("decoder-pre-4", folder)


def test_words_that_no_training_text_had_are_found():
    assert checkpoints.unseen("The cat saw a quorxel.", "decoder") == [checkpoints.Word("quorxel", 14, 21)]
    assert checkpoints.unseen("The cat is on the table.", "encoder-decoder") == []
    assert checkpoints.unseen("고양이가 우주정거장에서 잤어요.", "decoder")[0].text == "우주정거장에서"
