"""The grammar writes regular Korean, the same each time, and keeps its test apart."""

import itertools
import re
import unittest

from explorer.training import grammar, lexicon

PRESENT = """걷다 ㄷ 걸어요|듣다 ㄷ 들어요|묻다 ㄷ 물어요|돕다 ㅂ 도와요|춥다 ㅂ 추워요|덥다 ㅂ 더워요|귀엽다 ㅂ 귀여워요|굽다 ㅂ 구워요
모르다 르 몰라요|부르다 르 불러요|고르다 르 골라요|빠르다 르 빨라요|게으르다 르 게을러요|쓰다 - 써요|예쁘다 - 예뻐요|바쁘다 - 바빠요
크다 - 커요|아프다 - 아파요|배고프다 - 배고파요|모으다 - 모아요|끄다 - 꺼요|짓다 ㅅ 지어요|빨갛다 ㅎ 빨개요|하얗다 ㅎ 하얘요|만들다 - 만들어요
살다 - 살아요|가다 - 가요|오다 - 와요|보다 - 봐요|마시다 - 마셔요|먹다 - 먹어요|읽다 - 읽어요|배우다 - 배워요|주다 - 줘요|쉬다 - 쉬어요
공부하다 - 공부해요|보내다 - 보내요|세다 - 세요|켜다 - 켜요|좋다 - 좋아요|입다 - 입어요|줍다 ㅂ 주워요|얇다 - 얇아요|희다 - 희어요"""


class Conjugation(unittest.TestCase):
    def test_present(self):
        for row in re.split(r"[|\n]", PRESENT):
            word, irregular, expected = row.split()
            self.assertEqual(grammar.polite(word, irregular.strip("-")), expected)

    def test_past_and_future(self):
        for word, irregular, past, future in [
                ("듣다", "ㄷ", "들었어요", "들을 거예요"), ("돕다", "ㅂ", "도왔어요", "도울 거예요"),
                ("만들다", "", "만들었어요", "만들 거예요"), ("짓다", "ㅅ", "지었어요", "지을 거예요"),
                ("쓰다", "", "썼어요", "쓸 거예요"), ("빨갛다", "ㅎ", "빨갰어요", "빨갈 거예요"),
                ("부르다", "르", "불렀어요", "부를 거예요"), ("먹다", "", "먹었어요", "먹을 거예요")]:
            self.assertEqual(grammar.polite(word, irregular, "past"), past)
            self.assertEqual(grammar.polite(word, irregular, "future"), future)

    def test_modifiers(self):
        for word, irregular, tense, adjective, expected in [
                ("만들다", "", "present", False, "만드는"), ("알다", "", "present", False, "아는"),
                ("먹다", "", "past", False, "먹은"), ("듣다", "ㄷ", "past", False, "들은"),
                ("만들다", "", "past", False, "만든"), ("돕다", "ㅂ", "past", False, "도운"),
                ("빨갛다", "ㅎ", "present", True, "빨간"), ("춥다", "ㅂ", "present", True, "추운"),
                ("맛있다", "", "present", True, "맛있는"), ("달다", "", "present", True, "단"),
                ("길다", "", "present", True, "긴"), ("작다", "", "present", True, "작은")]:
            self.assertEqual(grammar.modifier(word, irregular, tense, adjective), expected)

    def test_links(self):
        self.assertEqual(grammar.linked("걷다", "ㄷ", "present", "if"), "걸으면")
        self.assertEqual(grammar.linked("만들다", "", "present", "if"), "만들면")
        self.assertEqual(grammar.linked("춥다", "ㅂ", "past", "because"), "추워서")
        self.assertEqual(grammar.linked("먹다", "", "past", "when"), "먹었을 때")
        self.assertEqual(grammar.linked("가다", "", "past", "but"), "갔지만")

    def test_particles(self):
        for noun, pair, expected in [
                ("책", "은/는", "책은"), ("나무", "은/는", "나무는"), ("물", "이/가", "물이"),
                ("사과", "을/를", "사과를"), ("빵", "을/를", "빵을"), ("서울", "으로/로", "서울로"),
                ("집", "으로/로", "집으로"), ("학교", "으로/로", "학교로"), ("톰", "과/와", "톰과"),
                ("친구", "과/와", "친구와"), ("학생", "이에요/예요", "학생이에요"),
                ("의사", "이에요/예요", "의사예요")]:
            self.assertEqual(grammar.particle(noun, pair), expected)


class Sentences(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pairs = list(itertools.islice(grammar.sentences(1), 50_000))

    def test_same_seed_same_sentences(self):
        self.assertEqual(list(itertools.islice(grammar.sentences(1), 500)), self.pairs[:500])
        self.assertNotEqual(list(itertools.islice(grammar.sentences(2), 500)), self.pairs[:500])

    def test_mostly_distinct(self):
        self.assertGreater(len({p.english for p in self.pairs[:20_000]}), 19_400)

    def test_one_korean_for_each_english(self):
        seen = {}
        for pair in self.pairs:
            self.assertEqual(seen.setdefault(pair.english, pair.korean), pair.korean, pair.english)

    def test_form(self):
        for pair in self.pairs:
            self.assertRegex(pair.korean, r"^[가-힣0-9]+( [가-힣0-9]+)*요[.?]$")
            self.assertRegex(pair.english, r"^[A-Z][A-Za-z,']*( [A-Za-z,']+)+[.?]$")
            self.assertEqual(pair.english[-1], pair.korean[-1])

    def test_held_out_combinations_never_in_training(self):
        training = set()
        for pair in itertools.islice(grammar.training_pairs(3), 20_000):
            training |= pair.combinations
        held_out = list(itertools.islice(grammar.held_out_pairs(4), 1_000))
        for pair in held_out:
            self.assertTrue(pair.combinations)
            self.assertFalse(pair.combinations & training)
        everything = {c for p in self.pairs for c in p.combinations}
        share = sum(map(grammar.is_held_out, everything)) / len(everything)
        self.assertTrue(0.06 < share < 0.10, share)

    def test_size_of_the_lexicon(self):
        self.assertTrue(700 <= len({w.english for w in lexicon.words()}) <= 900)

    def test_every_noun_verb_and_adjective_is_used(self):
        text = " ".join(p.korean for p in self.pairs)
        for noun in lexicon.NOUNS:
            self.assertGreater(text.count(noun.korean), 8, noun.english)


if __name__ == "__main__":
    unittest.main()
