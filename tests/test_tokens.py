"""Tokens hold exactly the text, and a person can read every one of them."""

import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from explorer.config import BOS, EOS, MASK, SPECIAL_TOKENS
from explorer.tokens import Tokenizer, groups, visible

SHIPPED = Path(__file__).parents[1] / "explorer" / "checkpoints" / "tokenizer.json"

NASTY = [
    "Seán ate\ncafé", "Ελληνικά", "한국어 뷁 훯", "🤗", "👨‍👩‍👧", "e\u0301\u0301", "\ufffd", "a\ufffdb",
    "the the the the", "", "   ", "\n", "\u200b",
    "\t\ttab", "\r\n", "\x00\x01\x1b\x7f", "\u202eright to left\u202c",
    "العربية עברית", "a <|endoftext|> b", "</s>", "<pad>", "<extra_id_0>", "[PAD][BOS][EOS]", "[CLS] [SEP]",
    "[mask] [MASK", "Ġthe ĠĊ ķ",
    "`$x$` **b** :red[x] :material/home: ![i](http://e.org/x.png) -> <- -- &lt;", "<script>alert(1)</script>",
    "it's \"said\" back\\slash \u2028\u2029", "\ufe0f\u3164\u115f", "\U000e0041\U0010ffff", "ｆｕｌｌ　ｗｉｄｔｈ",
    "x" * 3000,
]  # fmt: skip


def small() -> Tokenizer:
    """A vocabulary that knows a few words and no emoji, so that most characters are split."""
    bpe = tokenizers.Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
    )
    bpe.train_from_iterator(["the cat sat on the mat", "한국어 한국 사람"] * 20, trainer)
    written = json.loads(bpe.to_str())
    written["added_tokens"] = []  # or the library would find special tokens in what is typed
    return Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(written)))


@pytest.fixture(scope="module", params=["shipped", "small"])
def tokenizer(request):
    return Tokenizer.load(SHIPPED) if request.param == "shipped" else small()


def check(tokenizer, text):
    tokens = tokenizer.encode(text)
    assert b"".join(token.bytes for token in tokens) == text.encode()
    assert tokenizer.decode(token.id for token in tokens) == text.replace(" [MASK]", "[MASK]")
    reached = 0  # the text up to here is covered
    for token in tokens:
        assert text[token.start : token.end] == token.text
        assert token.start <= reached <= token.end > token.start  # no gap, and every token covers something
        reached = token.end
        assert token.label.strip()
        assert "\ufffd" not in token.label or "\ufffd" in token.text
        assert "Ġ" not in token.label or "Ġ" in token.text
        assert all(character.isprintable() for character in token.label)
    assert reached == len(text)
    runs = groups(tokens)
    assert [i for run in runs for i in run] == list(range(len(tokens)))
    for run in runs:
        parts = [tokens[i].part for i in run]
        assert parts == ([None] if len(run) == 1 else [(k + 1, len(run)) for k in range(len(run))])
        joined = b"".join(tokens[i].bytes for i in run)
        assert joined.decode() == text[tokens[run[0]].start : tokens[run[-1]].end]  # a group is whole characters


@pytest.mark.parametrize("text", NASTY)
def test_nasty_texts(tokenizer, text):
    check(tokenizer, text)


@given(text=st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_all_of_unicode(tokenizer, text):
    check(tokenizer, text)


@given(pieces=st.lists(st.sampled_from(["[MASK]", "[BOS]", "[", "MASK]", " ", "한", "🤗", "the", "\n"]), max_size=8))
@settings(deadline=None)
def test_masks_in_all_places(tokenizer, pieces):
    text = "".join(pieces)
    check(tokenizer, text)
    assert [token.id for token in tokenizer.encode(text)].count(MASK) == text.count("[MASK]")


def test_only_the_mask_is_special_when_typed(tokenizer):
    tokens = tokenizer.encode("[PAD] [BOS] [EOS] The [MASK] sat.")
    special = [token for token in tokens if token.special]
    assert [(token.id, token.text, token.label) for token in special] == [(MASK, " [MASK]", "·⟨mask⟩")]
    assert "".join(token.text for token in tokens) == "[PAD] [BOS] [EOS] The [MASK] sat."


def test_a_mask_hides_the_space_of_the_token_it_stands_for(tokenizer):
    masked = tokenizer.encode("the [MASK] [MASK][MASK]  [MASK]")
    assert [token.text for token in masked if token.id == MASK] == [" [MASK]", " [MASK]", "[MASK]", " [MASK]"]
    assert len(tokenizer.encode("the [MASK]")) == len(tokenizer.encode("the")) + 1


def test_ends_are_added(tokenizer):
    text = "한국 [EOS]"
    encoder, decoder = tokenizer.encoder_input(text), tokenizer.decoder_input(text)
    assert [token.id for token in encoder] == [BOS, *[token.id for token in tokenizer.encode(text)], EOS]
    assert decoder == encoder[:-1]
    assert [encoder[0].label, encoder[-1].label] == ["⟨bos⟩", "⟨eos⟩"]
    assert all(token.special and token.text == "" and token.start == token.end for token in (encoder[0], encoder[-1]))


def test_a_split_syllable_names_its_parts():
    tokens = small().encode("뷁")
    assert [token.label for token in tokens] == ["뷁 1/3", "뷁 2/3", "뷁 3/3"]
    assert [token.hex for token in tokens] == ["EB", "B7", "81"]
    assert groups(tokens) == [[0, 1, 2]]


def test_an_unfinished_character_is_held_back():
    tokenizer = small()
    ids = [token.id for token in tokenizer.encode("a🤗")]
    assert [tokenizer.decode(ids[:n]) for n in range(1, 6)] == ["a", "a", "a", "a", "a🤗"]
    assert [tokenizer.unfinished(ids[:n]).hex() for n in range(1, 6)] == ["", "f0", "f09f", "f09fa4", ""]


def test_bytes_that_spell_nothing_are_hex():
    tokenizer = small()
    ids = [token.id for token in tokenizer.encode("🤗")]
    assert tokenizer.token(ids[0]).label == "⟨F0⟩"
    broken = [ids[1], *[token.id for token in tokenizer.encode("the")]]
    assert tokenizer.decode(broken) == "⟨9F⟩the"
    assert tokenizer.unfinished(broken) == b""
    assert [token.label for token in tokenizer.tokens(broken)][0] == "⟨9F⟩"


def test_every_entry_of_the_vocabulary_can_be_read(tokenizer):
    labels = [tokenizer.token(id).label for id in range(tokenizer.size)]
    assert labels[:4] == ["⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "⟨mask⟩"]
    assert all(label.strip() and label.isprintable() and "\ufffd" not in label for label in labels)


@pytest.mark.parametrize(
    "text, seen",
    [
        ("a\nb\tc", "a⏎b⇥c"), ("\u200b", "U+200B"), ("\x00\x1b", "␀␛"), ("\ufe0f", "U+FE0F"), ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"), ("\u3164", "U+3164"), ("\ufffd", "\ufffd"), ("\xa0", "U+00A0"),
        ("\U000e0041", "U+E0041"),
    ],
)  # fmt: skip
def test_what_has_no_glyph_is_named(text, seen):
    assert visible(text) == seen


def test_a_typed_dot_is_not_a_space(tokenizer):
    assert [token.spaces for token in tokenizer.encode("·")][0] == 0
    (token,) = [token for token in tokenizer.encode("a the") if "the" in token.text] or [tokenizer.encode(" ")[0]]
    assert token.spaces == 1 and token.label.startswith("·")


def test_a_file_that_is_no_tokenizer(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="tokenizer.json cannot be read as a tokenizer"):
        Tokenizer.load(tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match="missing.json"):
        Tokenizer.load(tmp_path / "missing.json")


def test_half_a_surrogate_pair_is_refused(tokenizer):
    with pytest.raises(ValueError, match="surrogates"):
        tokenizer.encode("\ud800")
