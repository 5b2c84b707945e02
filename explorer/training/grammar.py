"""A grammar that writes English sentences together with their Korean translations.

The Korean is in the polite 해요 style throughout. Fixed choices keep one Korean for each English:

* the subject of a main clause takes 은/는; 이/가 marks the subject inside relative, because, if and
  when clauses, a counted subject ("two boys") and whatever exists ("there is ...");
* "you" is left out of questions and is 당신 in statements;
* negation is -지 않다, "because" is -아서/어서, "let's" is 우리 같이 ...;
* Korean order is subject, time, frequency, companion, place, object, manner, verb.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from explorer.training import lexicon
from explorer.training.lexicon import Adjective, Noun, Verb

# --- Hangul: a syllable is 0xAC00 + (lead * 21 + vowel) * 28 + tail ---------------------------

VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
TAILS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"


def vowel(syllable: str) -> str:
    """The vowel of a Hangul syllable."""
    return VOWELS[(ord(syllable) - 0xAC00) // 28 % 21]


def tail(syllable: str) -> str:
    """The final consonant (받침) of a Hangul syllable, or a space."""
    return TAILS[(ord(syllable) - 0xAC00) % 28]


def with_tail(syllable: str, consonant: str) -> str:
    """The same syllable with another final consonant; a space takes it away."""
    code = ord(syllable) - 0xAC00
    return chr(0xAC00 + code // 28 * 28 + TAILS.index(consonant))


def with_vowel(syllable: str, new: str) -> str:
    """The same syllable with another vowel and no final consonant."""
    lead = (ord(syllable) - 0xAC00) // 588
    return chr(0xAC00 + (lead * 21 + VOWELS.index(new)) * 28)


def particle(noun: str, pair: str) -> str:
    """The noun with the right half of a pair such as ``은/는`` attached."""
    closed, opened = pair.split("/")
    final = tail(noun[-1])
    if closed == "으로":  # ㄹ behaves like a vowel before this particle alone
        return noun + (opened if final in " ㄹ" else closed)
    return noun + (opened if final == " " else closed)


# --- Conjugation from the dictionary form and the class of irregularity ------------------------


@cache
def infinitive(word: str, irregular: str = "") -> str:
    """The -아/어 form, on which the polite, past and linking forms stand."""
    stem, last = word[:-2], word[-2]
    if last == "하" and irregular == "":
        return stem + "해"
    if irregular == "ㅂ":
        return stem + with_tail(last, " ") + ("와" if last in "돕곱" else "워")
    if irregular == "르":
        previous = stem[-1]
        return stem[:-1] + with_tail(previous, "ㄹ") + ("라" if vowel(previous) in "ㅏㅗ" else "러")
    if irregular == "ㅎ":
        return stem + with_vowel(last, "ㅒ" if vowel(last) == "ㅑ" else "ㅐ")
    ending = "아" if vowel(last) in "ㅏㅑㅗ" else "어"
    if irregular == "ㄷ":
        return stem + with_tail(last, "ㄹ") + ending
    if irregular == "ㅅ":
        return stem + with_tail(last, " ") + ending
    if tail(last) != " ":
        return stem + last + ending
    if vowel(last) == "ㅡ":
        light = stem and stem[-1] != " " and vowel(stem[-1]) in "ㅏㅗ"
        return stem + with_vowel(last, "ㅏ" if light else "ㅓ")
    contracted = {"ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅚ": "ㅙ"}
    if vowel(last) in contracted:
        return stem + with_vowel(last, contracted[vowel(last)])
    return stem + last + (ending if vowel(last) in "ㅟㅢ" else "")


@cache
def open_stem(word: str, irregular: str = "") -> str:
    """The stem as it stands before endings that begin with 으; a ㄹ stem keeps its ㄹ."""
    stem, last = word[:-2], word[-2]
    if irregular == "ㅂ":
        return stem + with_tail(last, " ") + "우"
    if irregular == "ㄷ":
        return stem + with_tail(last, "ㄹ") + "으"
    if irregular == "ㅅ":
        return stem + with_tail(last, " ") + "으"
    if irregular == "ㅎ":
        return stem + with_tail(last, " ")
    return stem + last + ("" if tail(last) in " ㄹ" else "으")


def past_stem(word: str, irregular: str = "") -> str:
    """The stem with -았/었-."""
    form = infinitive(word, irregular)
    return form[:-1] + with_tail(form[-1], "ㅆ")


def modifier(word: str, irregular: str, tense: str, adjective: bool = False) -> str:
    """The form that stands before a noun: 먹는, 먹은, 먹을, 예쁜."""
    opened = open_stem(word, irregular)
    if tense == "future":
        return opened[:-1] + with_tail(opened[-1], "ㄹ")
    has = word.endswith(("있다", "없다"))
    if tense == "past" or (adjective and not has):
        return opened[:-1] + with_tail(opened[-1], "ㄴ")
    last = word[-2]
    return word[:-2] + (with_tail(last, " ") if tail(last) == "ㄹ" else last) + "는"


@cache
def polite(word: str, irregular: str = "", tense: str = "present") -> str:
    """The sentence-ending form in the 해요 style."""
    if tense == "past":
        return past_stem(word, irregular) + "어요"
    if tense == "future":
        return modifier(word, irregular, "future") + " 거예요"
    return infinitive(word, irregular) + "요"


def linked(word: str, irregular: str, tense: str, link: str) -> str:
    """The form that joins a clause to the next one: and, but, because, if or when."""
    if link == "because":  # -아서 carries no tense
        return infinitive(word, irregular) + "서"
    if link == "if":
        return open_stem(word, irregular) + "면"
    if link == "when":
        return (past_stem(word, irregular) + "을" if tense == "past" else modifier(word, irregular, "future")) + " 때"
    stem = past_stem(word, irregular) if tense == "past" else word[:-1]
    return stem + {"and": "고", "but": "지만"}[link]


def negative(word: str, irregular: str) -> tuple[str, str]:
    """The dictionary form and class of the negated predicate."""
    if word == "알다":  # Korean has its own verb for not knowing
        return "모르다", "르"
    if word.endswith("있다") and word[-3:-2] in ("", " ") and not word.endswith("고 있다"):
        return word[:-2] + "없다", ""
    return word[:-1] + "지 않다", ""


@cache
def predicate(word: str, irregular: str, form: str, negated: bool, third: bool):
    """Dictionary form, class and tense of a predicate in one of the forms of ``FORMS``."""
    tense = {"past": "past", "was": "past", "future": "future", "wanted": "past", "had to": "past"}.get(form, "present")
    if form in ("progressive", "was"):
        word, irregular = word[:-1] + "고 있다", ""
    elif form in ("want", "wanted"):
        word, irregular = word[:-1] + "고 싶다", ""
    elif form == "can":
        word, irregular = modifier(word, irregular, "future") + " 수 있다", ""
    elif form in ("must", "have to", "had to"):
        word, irregular = infinitive(word, irregular) + "야 하다", ""
    if form in ("want", "wanted") and third:
        word = word.removesuffix("싶다") + "싶어 하다"
    if negated:
        word, irregular = negative(word, irregular)
    return word, irregular, tense


# --- Phrases -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """An English sentence, its Korean, and the word combinations it is built on."""

    english: str
    korean: str
    combinations: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Phrase:
    """A noun phrase in both languages."""

    english: str
    korean: str
    person: str = "it"  # the pronoun that agrees with it: I, you, he, she, it, we, they
    combinations: tuple[tuple[str, str], ...] = ()
    counted: bool = False

    @property
    def third(self) -> bool:
        return self.person not in ("I", "we", "you")


@dataclass(frozen=True)
class Clause:
    """A subject and predicate with what belongs to them; English parts follow the verb."""

    subject: Phrase
    verb: tuple[str, str, str]  # base, past and -ing form; "be" stands for the copula
    korean: str
    irregular: str
    form: str = "present"
    negated: bool = False
    after: str = ""
    before: str = ""
    when: tuple[str, str] = ("", "")
    frequency: tuple[str, str] = ("", "")
    combinations: tuple[tuple[str, str], ...] = ()

    def english(self, question: bool = False, subject: bool = True, head: str = "") -> str:
        auxiliary, main = english_verb(self.verb, self.form, self.negated or question, self.subject.person)
        name = self.subject.english if subject else ""
        denial = "not" if self.negated else ""
        often = self.frequency[0]
        if question:
            return spaced(head, auxiliary, name, denial, often, main, self.after, self.when[0])
        said = spaced(name, auxiliary, denial, often, main, self.after, self.when[0])
        return said.replace("can not ", "cannot ")

    def body(self, marker: str = "은/는") -> str:
        """The Korean of everything before the verb; an empty marker leaves the subject out."""
        if marker == "은/는" and self.subject.counted:
            marker = "이/가"
        name = particle(self.subject.korean, marker) if marker else ""
        name = {"저가": "제가"}.get(name, name)
        return spaced(name, self.when[1], self.frequency[1], self.before)

    def parts(self):
        return predicate(self.korean, self.irregular, self.form, self.negated, self.subject.third)

    def sentence(self, marker: str = "은/는") -> str:
        return spaced(self.body(marker), polite(*self.parts()))

    def joined(self, link: str, marker: str) -> str:
        return spaced(self.body(marker), linked(*self.parts(), link))

    def all_combinations(self):
        return self.combinations + self.subject.combinations


def spaced(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def with_article(english: str) -> str:
    vowel_sound = english[0] in "aeiou" and not english.startswith(("uni", "use"))
    return ("an " if vowel_sound or english.startswith("honest") else "a ") + english


def attributive(adjective: Adjective) -> str:
    """The form of an adjective that stands before its noun."""
    if adjective.irregular == "관형사":  # 새 never changes
        return adjective.korean
    irregular = "" if adjective.irregular == "있" else adjective.irregular
    return modifier(adjective.korean, irregular, "present", adjective=True)


def third_person(base: str) -> str:
    first, _, rest = base.partition(" ")
    if first in ("have", "do", "go"):
        first = {"have": "has", "do": "does", "go": "goes"}[first]
    elif first.endswith(("s", "x", "ch", "sh")):
        first += "es"
    elif first.endswith("y") and first[-2] not in "aeiou":
        first = first[:-1] + "ies"
    else:
        first += "s"
    return spaced(first, rest)


def english_verb(verb, form: str, with_auxiliary: bool, person: str) -> tuple[str, str]:
    """The auxiliary and the main verb; the auxiliary is empty where English needs none."""
    base, past, ing = verb
    single = person in ("he", "she", "it")
    am = "am" if person == "I" else "is" if single else "are"
    was = "was" if single or person == "I" else "were"
    if form in ("can", "must"):
        return form, base
    if form == "future":
        return "will", base
    if form == "progressive":
        return am, ing
    if form == "was":
        return was, ing
    if base == "be":
        return (was if form == "past" else am), ""
    if form in ("want", "wanted"):
        base, past = "want to " + base, "wanted to " + base
    if form in ("have to", "had to"):
        base, past = "have to " + base, "had to " + base
    if form in ("past", "wanted", "had to"):
        return ("did", base) if with_auxiliary else ("", past)
    if with_auxiliary:
        return ("does" if single else "do"), base
    return "", (third_person(base) if single else base)


FEWEST_VERBS = 4  # that take a noun, for its combinations to be held out at all
PRONOUNS = [Phrase(w.english, w.korean, w.english) for w in lexicon.part("pronoun")]
NAMES = [Phrase(w.english, w.korean, w.note) for w in lexicon.part("name")]
POSSESSIVES = [(w.english, w.korean) for w in lexicon.part("possessive")]
OWN = dict(zip(("I", "you", "he", "she", "we", "they"), POSSESSIVES, strict=True))
NUMBERS = [(w.english, w.korean) for w in lexicon.part("number")][1:]
FREQUENCY = [(w.english, w.korean) for w in lexicon.part("adverb") if w.note == "frequency"]
MANNER = [(w.english, w.korean) for w in lexicon.part("adverb") if w.note == "manner"]
DEGREE = [(w.english, w.korean) for w in lexicon.part("adverb") if w.note == "degree"]
POSITIONS = [(w.english, w.korean) for w in lexicon.part("position")]
TOGETHER, ALONE = [next(w for w in lexicon.part("adverb") if w.note == n) for n in ("together", "alone")]
WEATHER = lexicon.part("weather adjective")
PEOPLE = lexicon.nouns_for(("person",))
FAMILY = lexicon.nouns_for(("family",))
ANIMALS = lexicon.nouns_for(("animal",))
# People and animals one may call one's own.
RELATED = {
    "friend",
    "student",
    "teacher",
    "doctor",
    "neighbor",
    "guest",
    "hero",
    "lawyer",
    "cat",
    "dog",
    "puppy",
    "kitten",
    "rabbit",
    "horse",
    "cow",
    "pig",
    "parrot",
    "turtle",
}
THINGS = lexicon.nouns_for(("object", "toy", "food", "readable", "container"))
SEATS = lexicon.nouns_for(("furniture", "container"))
OBJECTS = {verb: lexicon.nouns_for(verb.objects) for verb in lexicon.VERBS}
VERBS_OF = Counter(noun.english for nouns in OBJECTS.values() for noun in nouns)  # how many verbs take a noun
TRANSITIVE = [v for v in lexicon.VERBS if OBJECTS[v]]
GIVING = [v for v in lexicon.VERBS if v.objects[0] == "to"]
SIMPLE = [v for v in TRANSITIVE if v not in GIVING]
INTRANSITIVE = [v for v in lexicon.VERBS if v.objects == ("none",)]
MOVING = [v for v in lexicon.VERBS if v.objects[0] in ("goal", "home", "arrival")]
FITTING = {a: lexicon.nouns_for(a.nouns) for a in lexicon.ADJECTIVES}
DESCRIBING: dict[Noun, list[Adjective]] = {noun: [] for noun in lexicon.NOUNS}
for _adjective, _nouns in FITTING.items():
    for _noun in _nouns:
        if _adjective.use != "predicative":
            DESCRIBING[_noun].append(_adjective)
STATES = {
    "know",
    "understand",
    "trust",
    "respect",
    "remember",
    "forget",
    "like",
    "love",
    "hate",
    "hear",
    "see",
    "miss",
    "believe",
    "live",
}
# Things that happen to people rather than being chosen: no "let's lose the key".
ACCIDENTS = {"lose", "break", "find", "arrive"}
# What one Korean verb per object cannot answer: "what does she wear" has four translations.
VARIED = {v.english for v in SIMPLE if len({o.korean for o in SIMPLE if o.english == v.english}) > 1}
# Verbs for which "in the park" says where it happens, not which thing is meant.
SHOPS = ("market", "store", "supermarket", "department store")
TABLES = ("home", "school", "restaurant", "cafe", "park", "kitchen", "hotel", "garden", "beach", "airport")
DESKS = ("home", "school", "library", "cafe", "park", "classroom", "office", "university", "living room", "bedroom")
PLACE_NAMES = {
    "eat": TABLES,
    "drink": TABLES,
    "order": TABLES[2:4],
    "cook": TABLES[:6:5],
    "buy": SHOPS,
    "sell": SHOPS,
    "read": DESKS,
    "write": DESKS,
    "study": DESKS[:8],
    "watch": ("home", "theater", "hotel", "school", "living room"),
    "sing": ("home", "school", "park", "church", "theater", "beach", "garden"),
    "draw": ("home", "school", "park", "museum", "zoo", "garden", "classroom"),
    "meet": (),
    "wait for": (),
    "lose": (),
    "find": (),
}
PLACED = {verb: [p for p in lexicon.PLACES if p.english in names or not names] for verb, names in PLACE_NAMES.items()}
ANYWHERE = {"dance", "cry", "laugh", "work", "rest", "talk", "shout"}
# Verbs whose manner one remarks on.
CAREFUL = {
    "eat",
    "drink",
    "read",
    "write",
    "wash",
    "clean",
    "open",
    "close",
    "carry",
    "move",
    "drive",
    "draw",
    "fold",
    "wipe",
    "cook",
    "make",
}
TIMES = {
    "past": [t for t in lexicon.TIMES if t.tense in ("past", "any", "dated")],
    "future": [t for t in lexicon.TIMES if t.tense in ("future", "any", "dated")],
    "progressive": [t for t in lexicon.TIMES if t.tense == "now"],
    "present": [t for t in lexicon.TIMES if t.tense == "habit"]
    + [t for t in lexicon.TIMES if t.tense == "any" and t.english != "today"],
}
TIMES["must"] = TIMES["have to"] = TIMES["want"] = TIMES["can"] = TIMES["future"]
TIMES["was"] = TIMES["had to"] = TIMES["wanted"] = TIMES["past"]
DAYS = {"past": ("yesterday", "어제"), "future": ("tomorrow", "내일")}
HOMES = ("village", "city", "forest", "palace")
LANDS = [p for p in lexicon.PLACES if p.english[0].isupper()]
LOCAL = [p for p in lexicon.PLACES if p.article == "the"]
FORMS = (
    "present",
    "present",
    "past",
    "past",
    "past",
    "future",
    "future",
    "progressive",
    "was",
    "can",
    "want",
    "must",
    "have to",
    "wanted",
    "had to",
)


class Writer:
    """Writes pairs from one stream of random numbers."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def pick(self, items):
        # int(random() * n) is the same on every Python, unlike choice, whose method has changed.
        return items[int(self.random.random() * len(items))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # Noun phrases

    def noun(
        self, noun: Noun, adjective: float = 0.25, number: float = 0.12, owner: str = "", plural: float = 0
    ) -> Phrase:
        """A phrase around a noun: article, possessive or number, and perhaps an adjective."""
        combos, english, korean = (), noun.english, noun.korean
        person = "they" if noun.number == "plural" else noun.pronoun or "it"
        if noun.classes[0] == "family":
            article, owner_korean = self.pick(POSSESSIVES) if owner != "I" else POSSESSIVES[0]
            # Koreans call even their own mother "our mother".
            owner_korean = "우리" if article == "my" else owner_korean
            return Phrase(f"{article} {english}", f"{owner_korean} {korean}", person)
        if noun.classes[0] == "body":
            article, owner_korean = OWN.get(owner) or self.pick(POSSESSIVES)
            return Phrase(f"{article} {english}", f"{owner_korean} {korean}", person)
        # Korean needs no plural: "I like apples" is 사과를 좋아해요.
        bare = bool(noun.plural) and self.chance(plural)
        counted = noun.counter and not bare and self.chance(number)
        if DESCRIBING[noun] and noun.classes[0] != "subject" and self.chance(adjective):
            chosen = self.pick(DESCRIBING[noun])
            combos = ((chosen.english, noun.english),)
            english = f"{chosen.english} {noun.plural if counted or bare else english}"
            korean = spaced(attributive(chosen), korean)
        elif counted or bare:
            english = noun.plural
        if bare:
            return Phrase(english, korean, "they", combos)
        if counted:
            worn = noun.classes[0] in ("clothing", "headwear", "handwear")
            count, korean_count = self.pick(NUMBERS[:3] if worn else NUMBERS)
            return Phrase(f"{count} {english}", f"{korean} {korean_count} {noun.counter}", "they", combos, True)
        if noun.number == "unique":
            return Phrase(f"the {english}", korean, person, combos)
        if noun.classes[0] in ("subject", "sport", "racket_sport"):
            return Phrase(english, korean, person, combos)
        draw = self.random.random()
        if (
            draw < 0.15
            and noun.classes[0] not in ("view", "nature")
            and (noun.classes[0] not in ("person", "animal") or noun.english in RELATED)
        ):
            article, owner_korean = self.pick(POSSESSIVES)
            return Phrase(f"{article} {english}", f"{owner_korean} {korean}", person, combos)
        if draw < 0.22 and noun.number != "plural":
            article, pointer = self.pick((("this", "이"), ("that", "그")))
            return Phrase(f"{article} {english}", f"{pointer} {korean}", person, combos)
        if draw < 0.6 or noun.classes[0] in ("idea", "housework"):
            return Phrase(f"the {english}", korean, person, combos)
        if noun.number != "count":
            return Phrase(english, korean, person, combos)
        return Phrase(with_article(english), korean, person, combos)

    def subject(self, you: bool = True) -> Phrase:
        draw = self.random.random()
        if draw < 0.48:
            phrase = self.pick(PRONOUNS)
            return phrase if you or phrase.person != "you" else PRONOUNS[0]
        if draw < 0.65:
            return self.pick(NAMES)
        if draw < 0.75:
            return self.noun(self.pick(FAMILY))
        return self.noun(self.pick(PEOPLE), 0.2, 0.1)

    # Clauses

    def time(self, form: str, share: float) -> tuple[str, str]:
        if form not in TIMES or not self.chance(share):
            return "", ""
        time = self.pick(TIMES[form])
        if "o'clock" in time.english and form in DAYS and self.chance(0.5):
            day = DAYS[form]
            return f"{time.english} {day[0]}", f"{day[1]} {time.korean}"
        return time.english, time.korean

    def form(self, verb: Verb) -> str:
        form = self.pick(FORMS)
        if verb.english in STATES or verb.english in ACCIDENTS:
            if form not in ("present", "past"):
                form = "past" if verb.english in ACCIDENTS else "present"
            if verb.english in ACCIDENTS:
                form = "past"
        elif not verb.ing and form in ("progressive", "was"):
            form = "past"
        return form

    def action(
        self,
        subject: Phrase,
        form: str = "",
        time: float = 0.4,
        detail: float = 0.3,
        verbs=None,
        adjective: float = 0.25,
    ) -> Clause:
        """A clause about somebody doing something."""
        draw = self.random.random()
        kinds = verbs or (SIMPLE if draw < 0.76 else INTRANSITIVE if draw < 0.86 else MOVING if draw < 0.93 else GIVING)
        verb = self.pick(kinds)
        while form and (verb.english in STATES or verb.english in ACCIDENTS) and form != "past":
            verb = self.pick(kinds)
        while verb.objects == ("body",) and subject.person not in OWN:
            verb = self.pick(kinds)  # English would need "his or her hands"
        form = form or self.form(verb)
        negated = form not in ("must", "have to", "had to") and not subject.counted and self.chance(0.18)
        combos: tuple = ()
        after, before = [], []
        if verb in MOVING:
            place = self.pick(lexicon.PLACES)
            while verb.english == "live" and place.article and place.english not in HOMES:
                place = self.pick(lexicon.PLACES)
            while verb.english == "live" and place.english == "school":
                place = self.pick(LANDS)
            link = place.preposition if verb.english in ("live", "arrive") else "to"
            after.append(place.phrase if place.article == "home" and link == "to" else f"{link} {place.phrase}")
            before.append(particle(place.korean, "으로/로") if verb.english == "return" else place.korean + "에")
        elif verb in INTRANSITIVE:
            if self.chance(0.25):
                mate = self.companion(subject)
                after.append("with " + mate.english)
                before.append(particle(mate.korean, "과/와"))
                combos += mate.combinations
            elif self.chance(0.12):
                alone = TOGETHER if subject.person in ("we", "they") else ALONE
                after.append(alone.english)
                before.append(alone.korean)
            if verb.english in ANYWHERE and self.chance(0.6):
                self.place(after, before)
            elif self.chance(0.3) and verb.english in ("run", "walk", "swim"):
                manner = self.pick(MANNER)
                after.insert(0, manner[0])
                before.append(manner[1])
        else:
            noun = self.pick(OBJECTS[verb])
            plural = 1 if verb.english in ("like", "hate", "collect") else 0.15
            thing = self.noun(noun, adjective, owner=subject.person, plural=plural)
            if verb.english in ("play", "practice") and noun.number == "count":
                thing = Phrase(f"the {noun.english}", noun.korean)
            combos += ((verb.english, noun.english),) + thing.combinations
            after.append(thing.english)
            manner = ("", "")
            if verb in GIVING:
                receiver = self.companion(subject)
                after.append("to " + receiver.english)
                before.append(receiver.korean + "에게")
                combos += receiver.combinations
            elif verb.english in PLACED and self.chance(detail):
                self.place(after, before, PLACED[verb.english])
            elif verb.english in CAREFUL and self.chance(0.2):
                manner = self.pick(MANNER)
                after.append(manner[0])
            before += [particle(thing.korean, "을/를"), manner[1]]
        often = ("", "")
        habits = time > 0  # a linked or relative clause says when by itself
        when = self.time(form, 0 if verb.english in STATES else time)
        if habits and not when[0] and form == "present" and not negated and verb.english not in STATES:
            often = self.pick(FREQUENCY) if self.chance(0.5) else often
        return Clause(
            subject,
            (verb.english, verb.past, verb.ing),
            verb.korean,
            verb.irregular,
            form,
            negated,
            spaced(*after),
            spaced(*before),
            when,
            often,
            combos,
        )

    def companion(self, subject: Phrase) -> Phrase:
        """Another person than the subject."""
        while True:
            other = (
                self.pick(NAMES)
                if self.chance(0.4)
                else self.noun(self.pick(PEOPLE if self.chance(0.6) else FAMILY), 0.15, 0)
            )
            if other.english != subject.english:
                return other

    def place(self, after: list[str], before: list[str], places=None) -> None:
        place = self.pick(places or (lexicon.PLACES if self.chance(0.3) else LOCAL))
        after.append(f"{place.preposition} {place.phrase}")
        before.append(place.korean + "에서")

    def description(self, subject: Phrase | None = None, form: str = "") -> Clause:
        """A clause that says what somebody or something is like."""
        choices = REASONS if subject else PREDICATIVE
        adjective = self.pick(choices)
        combos: tuple = ()
        if subject is None:
            if fits_people(adjective) and self.chance(0.4):
                subject = self.subject()
                while subject.english[0].islower() and subject.english not in OWN:
                    subject = self.subject()
            else:
                noun = self.pick(FITTING[adjective])
                subject = self.noun(noun, 0, 0)
                while subject.english.startswith(("a ", "an ")):
                    subject = self.noun(noun, 0, 0)
                combos = ((adjective.english, noun.english),)
        degree = self.pick(DEGREE) if self.chance(0.4) else ("", "")
        negated = not degree[0] and self.chance(0.3)
        form = form or self.pick(("present", "present", "past"))
        irregular = "" if adjective.irregular == "있" else adjective.irregular
        return Clause(
            subject,
            ("be", "", ""),
            adjective.korean,
            irregular,
            form,
            negated,
            spaced(degree[0], adjective.english),
            degree[1],
            combinations=combos,
        )

    def weather(self, form: str) -> Clause:
        """It rains, it is cold; Korean gives rain and snow their own subject."""
        subject = Phrase("it", "")
        when = self.time(form, 0.3)
        if self.chance(0.5):
            kind = self.pick((("rain", "비가"), ("snow", "눈이")))
            return Clause(
                subject, (kind[0], kind[0] + "ed", kind[0] + "ing"), "오다", "", form, False, "", kind[1], when
            )
        word = self.pick(WEATHER)
        return Clause(
            subject,
            ("be", "", ""),
            word.korean,
            "ㅂ" if word.korean in ("춥다", "덥다") else "",
            form,
            False,
            word.english,
            "날씨가",
            when,
        )

    # Sentences: each method returns the English, the Korean and the combinations

    def statement(self):
        clause = self.action(self.subject())
        return clause.english() + ".", clause.sentence() + ".", clause.all_combinations()

    def question(self):
        subject = PRONOUNS[1] if self.chance(0.4) else self.subject()
        while subject.person in ("I", "we"):  # one seldom asks what one does oneself
            subject = self.subject()
        clause = self.action(subject)
        while clause.negated or clause.form in ("must", "had to", "have to"):
            clause = self.action(subject)
        marker = "" if subject.person == "you" else "은/는"
        draw = self.random.random()
        if draw < 0.5:
            return clause.english(True) + "?", clause.sentence(marker) + "?", clause.all_combinations()
        if draw < 0.65:
            return self.what(subject, marker)
        word, korean = self.pick((("when", "언제"), ("why", "왜")))
        if word == "why" or not clause.frequency[0]:
            form = clause.form if word == "why" or clause.form in ("past", "future") else "past"
            parts = predicate(clause.korean, clause.irregular, form, False, subject.third)
            name = particle(subject.korean, marker) if marker else ""
            asked = Clause(
                subject, clause.verb, clause.korean, clause.irregular, form, False, clause.after, clause.before
            )
            if word == "when" and clause.verb[0] in STATES:
                return self.question()
            return (
                asked.english(True, head=word) + "?",
                spaced(name, korean, clause.before, polite(*parts)) + "?",
                clause.all_combinations(),
            )
        return self.what(subject, marker)

    def what(self, subject: Phrase, marker: str):
        """What, where and who."""
        draw = self.random.random()
        verb = self.pick(SIMPLE)
        while verb.english in VARIED or verb.english in STATES or "person" in verb.objects:
            verb = self.pick(SIMPLE)
        words = (verb.english, verb.past, verb.ing)
        if draw < 0.35:
            form = self.form(verb)
            clause = Clause(
                subject, words, verb.korean, verb.irregular, form, False, "", "무엇을", self.time(form, 0.5)
            )
            return clause.english(True, head="what") + "?", clause.sentence(marker) + "?", clause.all_combinations()
        if draw < 0.55:
            verb = self.pick([v for v in MOVING if v.objects[0] == "goal" and v.english == "go"])
            form = self.form(verb)
            clause = Clause(
                subject,
                (verb.english, verb.past, verb.ing),
                verb.korean,
                "",
                form,
                False,
                "",
                "어디에",
                self.time(form, 0.5),
            )
            return clause.english(True, head="where") + "?", clause.sentence(marker) + "?", clause.all_combinations()
        noun = self.pick(OBJECTS[verb])
        thing = self.noun(noun)
        combos = ((verb.english, noun.english),) + thing.combinations
        form = self.pick(("past", "past", "future"))
        what = particle(thing.korean, "을/를")
        if draw < 0.75:
            clause = Clause(
                subject,
                words,
                verb.korean,
                verb.irregular,
                form,
                False,
                thing.english,
                spaced("어디에서", what),
                combinations=combos,
            )
            return clause.english(True, head="where") + "?", clause.sentence(marker) + "?", clause.all_combinations()
        clause = Clause(
            Phrase("who", "누구", "he"),
            words,
            verb.korean,
            verb.irregular,
            form,
            False,
            thing.english,
            what,
            self.time(form, 0.4),
            combinations=combos,
        )
        korean = spaced("누가", clause.body(""), polite(*clause.parts()))
        return clause.english() + "?", korean + "?", clause.all_combinations()

    def quality(self):
        clause = self.description()
        if clause.subject.person not in ("I", "we") and not clause.negated and self.chance(0.2):
            marker = "" if clause.subject.english == "you" else "은/는"
            return clause.english(True) + "?", clause.sentence(marker) + "?", clause.all_combinations()
        return clause.english() + ".", clause.sentence() + ".", clause.all_combinations()

    def existence(self):
        """There is a cat under the table; the cat is under the table."""
        seat_noun = self.pick(SEATS)
        seat = self.noun(seat_noun, 0.15, 0)
        while not seat.english.startswith(("the ", "my ", "his ", "her ", "our ")):
            seat = self.noun(seat_noun, 0.15, 0)
        noun = self.pick(THINGS if self.chance(0.7) else ANIMALS)
        thing = self.noun(noun, 0.2, 0.5)
        positions = POSITIONS if seat_noun.classes[0] == "container" else POSITIONS[:-1]
        position, korean = self.pick(positions)
        where, where_korean = f"{position} {seat.english}", f"{seat.korean} {korean}에"
        combos = thing.combinations + seat.combinations
        if self.chance(0.25):
            place = self.pick(LOCAL)
            noun = self.pick(PEOPLE)
            thing = self.noun(noun, 0.2, 0.6)
            combos = thing.combinations
            where, where_korean = f"{place.preposition} {place.phrase}", place.korean + "에"
        past, negated = self.chance(0.25), not thing.counted and self.chance(0.2)
        be = ("was" if past else "is") if thing.person != "they" else ("were" if past else "are")
        verb = polite("없다" if negated else "있다", "", "past" if past else "present") + "."
        denial = "not" if negated else ""
        if thing.counted or thing.english.startswith(("a ", "an ")):
            name = "no " + thing.english.split(" ", 1)[1] if negated else thing.english
            return (
                spaced("there", be, name, where) + ".",
                spaced(where_korean, particle(thing.korean, "이/가"), verb),
                combos,
            )
        return (
            spaced(thing.english, be, denial, where) + ".",
            spaced(particle(thing.korean, "은/는"), where_korean, verb),
            combos,
        )

    def linked_sentence(self):
        """Two clauses joined by because, if, when, and, or but."""
        link = self.pick(("because", "because", "if", "when", "and", "but"))
        form = {"if": "future"}.get(link) or self.pick(("past", "past", "present"))
        form = "past" if link in ("when", "and") else form
        subject = self.subject(you=False)
        while subject.counted or subject.english[0].islower() and subject.english not in OWN:
            subject = self.subject(you=False)
        main = self.action(subject, form, 0, 0, adjective=0.08)
        if link in ("and", "but"):
            other = self.subject(you=False)
            while other.english == subject.english:
                other = self.subject(you=False)
            second = self.action(other, form, 0, 0, adjective=0.08)
            return (
                f"{main.english()} {link} {second.english()}.",
                f"{main.joined(link, '은/는')} {second.sentence()}.",
                main.all_combinations() + second.all_combinations(),
            )
        inner = "present" if link == "if" else form
        if self.chance(0.35):
            side, marker = replace(self.weather(inner), when=("", "")), ""
        elif link == "because" and self.chance(0.6):
            side, marker = self.description(self.pronoun(subject), inner), ""
        else:
            other = self.pick(NAMES)
            while other.english == subject.english:
                other = self.pick(NAMES)
            side, marker = self.action(other, inner, 0, 0, adjective=0.08), "이/가"
        combos = main.all_combinations() + side.all_combinations()
        if not marker and side.subject.person != "it":  # the same person: named once, at the front
            korean = spaced(particle(subject.korean, "은/는"), side.joined(link, ""), main.sentence(""))
        else:
            korean = spaced(side.joined(link, marker), main.sentence())
        if link == "because":
            return f"{main.english()} because {side.english()}.", korean + ".", combos
        return f"{link} {side.english()}, {main.english()}.", korean + ".", combos

    def pronoun(self, subject: Phrase) -> Phrase:
        return next(p for p in PRONOUNS if p.person == subject.person)

    def relative(self):
        """The boy who reads a book ...; the book that the girl bought ..."""
        form = self.pick(("present", "past"))
        if self.chance(0.5):
            noun = self.pick(PEOPLE)
            head = Phrase(f"the {noun.english}", noun.korean, noun.pronoun or "he")
            inner = self.action(head, form, 0, 0.2, SIMPLE if form == "past" else LIVELY, 0.1)
            while inner.negated or inner.frequency[0]:
                inner = self.action(head, form, 0, 0.2, SIMPLE if form == "past" else LIVELY, 0.1)
            phrase = Phrase(
                f"the {noun.english} who {inner.english(subject=False)}",
                spaced(inner.body(""), modifier(inner.korean, inner.irregular, form), noun.korean),
                head.person,
                inner.all_combinations(),
            )
            if self.chance(0.5):
                clause = self.description(phrase)
            else:
                clause = self.action(phrase, time=0.1, detail=0, adjective=0.05)
            return clause.english() + ".", clause.sentence() + ".", clause.all_combinations()
        giver, owner = self.subject(you=False), self.pick(SIMPLE)
        while (
            owner.english in STATES
            or "person" in owner.objects
            or owner.objects[0] in ("body", "subject:Korean", "subject", "housework")
        ):
            owner = self.pick(SIMPLE)
        noun = self.pick(OBJECTS[owner])
        adjectives = [a for a in DESCRIBING[noun] if a.use == "both"]
        if not adjectives:
            return self.relative()
        adjective = self.pick(adjectives)
        name = particle(giver.korean, "이/가")
        name = "제가" if name == "저가" else name
        article = f"the {noun.english}"
        thing = Phrase(
            f"{article} that {giver.english} {owner.past}",
            spaced(name, modifier(owner.korean, owner.irregular, "past"), noun.korean),
            "they" if noun.number == "plural" else "it",
        )
        irregular = "" if adjective.irregular == "있" else adjective.irregular
        clause = Clause(
            thing,
            ("be", "", ""),
            adjective.korean,
            irregular,
            self.pick(("present", "past")),
            self.chance(0.2),
            adjective.english,
            "",
            combinations=((owner.english, noun.english), (adjective.english, noun.english)) + giver.combinations,
        )
        return clause.english() + ".", clause.sentence() + ".", clause.all_combinations()

    def request(self):
        """Please read the book; please do not read it; let's read it."""
        clause = self.action(PRONOUNS[4], "future", 0, 0.15, adjective=0.2)
        base, word = clause.verb[0], (clause.korean, clause.irregular)
        draw = self.random.random()
        if draw < 0.4:
            return (
                spaced("let's", base, clause.after) + ".",
                spaced("우리 같이", clause.before, polite(*word)) + ".",
                clause.combinations,
            )
        if draw < 0.6:
            return (
                spaced("please do not", base, clause.after) + ".",
                spaced(clause.before, word[0][:-1] + "지 마세요") + ".",
                clause.combinations,
            )
        ask = "주세요" if word[0] == "주다" else infinitive(*word) + " 주세요"
        if word[0].endswith(" 주다") or word[0] == "빌려주다":  # 보여 주다 already holds 주다
            ask = word[0][:-1] + "세요"
        return (spaced("please", base, clause.after) + ".", spaced(clause.before, ask) + ".", clause.combinations)

    def liking(self):
        """I like to read books."""
        clause = self.action(self.subject(), "present", 0, 0.1, LIVELY, 0.1)
        subject, past = clause.subject, self.chance(0.25)
        thing = spaced(clause.before, modifier(clause.korean, clause.irregular, "present"))
        main = Clause(
            subject,
            ("like", "liked", ""),
            "좋아하다",
            "",
            "past" if past else "present",
            clause.negated,
            spaced("to", clause.verb[0], clause.after),
            thing + " 것을",
            combinations=clause.combinations,
        )
        return main.english() + ".", main.sentence() + ".", main.all_combinations()

    def being(self):
        """Tom is a doctor; are you a student?"""
        subject = self.pick(NAMES) if self.chance(0.4) else self.pick(PRONOUNS)
        noun = self.pick(PEOPLE)
        plural = subject.person in ("we", "they")
        gender = {"he": "he", "she": "she"}.get(subject.person, noun.pronoun)
        if noun.pronoun and noun.pronoun != gender:
            return self.being()
        combos, name, korean = (), noun.plural if plural else noun.english, noun.korean
        # "She is a woman" says nothing; "she is a kind woman" does.
        plain = noun.english in ("man", "woman", "boy", "girl", "child")
        if DESCRIBING[noun] and (plain or self.chance(0.4)):
            chosen = self.pick(DESCRIBING[noun])
            name, korean = f"{chosen.english} {name}", spaced(attributive(chosen), korean)
            combos = ((chosen.english, noun.english),)
        what = name if plural else with_article(name)
        past, negated = self.chance(0.25), self.chance(0.2)
        ending = particle(korean, "이었어요/였어요" if past else "이에요/예요")
        if negated:
            ending = particle(korean, "이/가") + (" 아니었어요" if past else " 아니에요")
        auxiliary, _ = english_verb(("be", "", ""), "past" if past else "present", True, subject.person)
        if not negated and subject.person != "I" and self.chance(0.25):
            topic = "" if subject.person == "you" else particle(subject.korean, "은/는")
            return f"{auxiliary} {subject.english} {what}?", spaced(topic, ending) + "?", combos
        return (
            spaced(subject.english, auxiliary, "not" if negated else "", what) + ".",
            spaced(particle(subject.korean, "은/는"), ending) + ".",
            combos,
        )

    def sky(self):
        clause = self.weather(self.pick(("past", "future", "progressive", "was", "present")))
        if clause.verb[0] == "be" and clause.form in ("progressive", "was"):
            return self.sky()
        if self.chance(0.25):
            return clause.english(True) + "?", clause.sentence("") + "?", ()
        return clause.english() + ".", clause.sentence("") + ".", ()

    def pair(self) -> Pair:
        english, korean, combos = self.pick(KINDS)(self)
        return Pair(english[0].upper() + english[1:], korean, frozenset(combos))


def fits_people(adjective: Adjective) -> bool:
    return adjective.nouns[:2] == ("person", "family")


PREDICATIVE = [a for a in lexicon.ADJECTIVES if a.use != "attributive"]
# States that explain what people do.
REASONS = [
    a
    for a in PREDICATIVE
    if fits_people(a) and a.english in ("happy", "sad", "tired", "hungry", "busy", "sick", "bored", "thirsty", "lonely")
]
LIVELY = [v for v in SIMPLE if v.english not in STATES and v.english not in ACCIDENTS]
KINDS = (
    [Writer.statement] * 30
    + [Writer.question] * 17
    + [Writer.quality] * 14
    + [Writer.existence] * 7
    + [Writer.linked_sentence] * 10
    + [Writer.relative] * 9
    + [Writer.request] * 6
    + [Writer.liking] * 3
    + [Writer.being] * 5
    + [Writer.sky] * 1
)


def sentences(seed: int) -> Iterator[Pair]:
    """An endless stream of pairs, always the same for one seed."""
    writer = Writer(seed)
    while True:
        yield writer.pair()


@cache
def is_held_out(combination: tuple[str, str]) -> bool:
    """Whether a combination is kept for the test; about 8 % of them are.

    A noun that only a few verbs take stays in training: a face is washed and little else, and a model that has never
    met the word as an object is not asked for a new combination but for a word that it does not know.
    """
    return VERBS_OF[combination[1]] >= FEWEST_VERBS and zlib.crc32(" + ".join(combination).encode()) % 100 < 8


def training_pairs(seed: int) -> Iterator[Pair]:
    """The pairs none of whose combinations is held out."""
    return (p for p in sentences(seed) if not any(map(is_held_out, p.combinations)))


def held_out_pairs(seed: int) -> Iterator[Pair]:
    """The pairs with at least one combination and none that is not held out."""
    return (p for p in sentences(seed) if p.combinations and all(map(is_held_out, p.combinations)))
