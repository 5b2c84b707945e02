"""The grammar writes regular Korean, the same each time, and keeps its test apart."""

import re
from itertools import islice

import pytest

from explorer.training import grammar, lexicon

PRESENT = """
    가다       -   가요
    걷다       ㄷ  걸어요
    게으르다   르  게을러요
    고르다     르  골라요
    공부하다   -   공부해요
    굽다       ㅂ  구워요
    귀엽다     ㅂ  귀여워요
    끄다       -   꺼요
    덥다       ㅂ  더워요
    돕다       ㅂ  도와요
    듣다       ㄷ  들어요
    마시다     -   마셔요
    만들다     -   만들어요
    먹다       -   먹어요
    모르다     르  몰라요
    모으다     -   모아요
    묻다       ㄷ  물어요
    바쁘다     -   바빠요
    배고프다   -   배고파요
    배우다     -   배워요
    보내다     -   보내요
    보다       -   봐요
    부르다     르  불러요
    빠르다     르  빨라요
    빨갛다     ㅎ  빨개요
    살다       -   살아요
    세다       -   세요
    쉬다       -   쉬어요
    쓰다       -   써요
    아프다     -   아파요
    얇다       -   얇아요
    예쁘다     -   예뻐요
    오다       -   와요
    읽다       -   읽어요
    입다       -   입어요
    좋다       -   좋아요
    주다       -   줘요
    줍다       ㅂ  주워요
    짓다       ㅅ  지어요
    춥다       ㅂ  추워요
    켜다       -   켜요
    크다       -   커요
    하얗다     ㅎ  하얘요
    희다       -   희어요
"""
ROWS = [line.split() for line in PRESENT.strip().splitlines()]


@pytest.fixture(scope="module")
def pairs() -> list[grammar.Pair]:
    return list(islice(grammar.sentences(1), 50_000))


@pytest.mark.parametrize(("word", "irregular", "expected"), ROWS)
def test_present(word, irregular, expected):
    assert grammar.polite(word, irregular.strip("-")) == expected


@pytest.mark.parametrize(
    ("word", "irregular", "past", "future"),
    [
        ("듣다", "ㄷ", "들었어요", "들을 거예요"),
        ("돕다", "ㅂ", "도왔어요", "도울 거예요"),
        ("만들다", "", "만들었어요", "만들 거예요"),
        ("짓다", "ㅅ", "지었어요", "지을 거예요"),
        ("쓰다", "", "썼어요", "쓸 거예요"),
        ("빨갛다", "ㅎ", "빨갰어요", "빨갈 거예요"),
        ("부르다", "르", "불렀어요", "부를 거예요"),
        ("먹다", "", "먹었어요", "먹을 거예요"),
    ],
)
def test_past_and_future(word, irregular, past, future):
    assert grammar.polite(word, irregular, "past") == past
    assert grammar.polite(word, irregular, "future") == future


@pytest.mark.parametrize(
    ("word", "irregular", "tense", "expected"),
    [
        ("만들다", "", "present", "만드는"),
        ("알다", "", "present", "아는"),
        ("먹다", "", "past", "먹은"),
        ("듣다", "ㄷ", "past", "들은"),
        ("만들다", "", "past", "만든"),
        ("돕다", "ㅂ", "past", "도운"),
    ],
)
def test_a_verb_before_a_noun(word, irregular, tense, expected):
    assert grammar.modifier(word, irregular, tense) == expected


@pytest.mark.parametrize(
    ("word", "irregular", "expected"),
    [
        ("빨갛다", "ㅎ", "빨간"),
        ("춥다", "ㅂ", "추운"),
        ("맛있다", "", "맛있는"),
        ("달다", "", "단"),
        ("길다", "", "긴"),
        ("작다", "", "작은"),
    ],
)
def test_an_adjective_before_a_noun(word, irregular, expected):
    assert grammar.modifier(word, irregular, "present", adjective=True) == expected


@pytest.mark.parametrize(
    ("word", "irregular", "tense", "link", "expected"),
    [
        ("걷다", "ㄷ", "present", "if", "걸으면"),
        ("만들다", "", "present", "if", "만들면"),
        ("춥다", "ㅂ", "past", "because", "추워서"),
        ("먹다", "", "past", "when", "먹었을 때"),
        ("가다", "", "past", "but", "갔지만"),
    ],
)
def test_links(word, irregular, tense, link, expected):
    assert grammar.linked(word, irregular, tense, link) == expected


@pytest.mark.parametrize(
    ("noun", "pair", "expected"),
    [
        ("책", "은/는", "책은"),
        ("나무", "은/는", "나무는"),
        ("물", "이/가", "물이"),
        ("사과", "을/를", "사과를"),
        ("빵", "을/를", "빵을"),
        ("서울", "으로/로", "서울로"),
        ("집", "으로/로", "집으로"),
        ("학교", "으로/로", "학교로"),
        ("톰", "과/와", "톰과"),
        ("친구", "과/와", "친구와"),
        ("학생", "이에요/예요", "학생이에요"),
        ("의사", "이에요/예요", "의사예요"),
    ],
)
def test_particles(noun, pair, expected):
    assert grammar.particle(noun, pair) == expected


def test_the_same_seed_writes_the_same_sentences(pairs):
    assert list(islice(grammar.sentences(1), 500)) == pairs[:500]
    assert list(islice(grammar.sentences(2), 500)) != pairs[:500]


def test_sentences_are_mostly_distinct(pairs):
    assert len({pair.english for pair in pairs[:20_000]}) > 19_400


def test_each_english_sentence_has_one_korean(pairs):
    seen = {}
    for pair in pairs:
        assert seen.setdefault(pair.english, pair.korean) == pair.korean, pair.english


def test_sentences_have_the_form_of_sentences(pairs):
    for pair in pairs:
        assert re.fullmatch(r"[가-힣0-9]+( [가-힣0-9]+)*요[.?]", pair.korean), pair
        assert re.fullmatch(r"[A-Z][A-Za-z,']*( [A-Za-z,']+)+[.?]", pair.english), pair
        assert pair.english[-1] == pair.korean[-1], pair


def test_held_out_combinations_are_never_in_training():
    training = set()
    for pair in islice(grammar.training_pairs(3), 20_000):
        training |= pair.combinations
    for pair in islice(grammar.held_out_pairs(4), 1_000):
        assert pair.combinations
        assert not pair.combinations & training, pair


def test_about_one_combination_in_twelve_is_held_out(pairs):
    combinations = {combination for pair in pairs for combination in pair.combinations}
    share = sum(map(grammar.is_held_out, combinations)) / len(combinations)
    assert 0.06 < share < 0.10


def test_the_size_of_the_lexicon():
    assert 700 <= len({word.english for word in lexicon.words()}) <= 900


def test_every_noun_is_used(pairs):
    text = " ".join(pair.korean for pair in pairs)
    assert [noun.english for noun in lexicon.NOUNS if text.count(noun.korean) <= 8] == []
