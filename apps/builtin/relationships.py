"""The task ``relationships``: how people say, or are said, to stand to each other."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from apps.builtin.statements import Statement, person_meant, statements_of, subjects
from apps.extraction.parsers.relationships import Descriptor, RelationshipLine, print_relationship
from apps.llm.generation import GenerationRequest

Pair = tuple[str, str]
Words = dict[str, str]  # descriptor: magnitude

# (what is said, the descriptor, the one where it is denied)
_VERBS = [
    (r"loves?|loved|adores?|adored", "loving", ""),
    (r"hates?|hated|loathes?|loathed|detests?|despises?|despised", "hateful", ""),
    (r"trusts?|trusted", "trusting", "wary"),
    (r"distrusts?|distrusted|mistrusts?|mistrusted|suspects?", "wary", ""),
    (r"fears?|feared|dreads?", "fearful", ""),
    (r"likes?|liked", "fond", "cold"),
    (r"dislikes?|disliked", "cold", ""),
    (r"respects?|respected", "respectful", "contemptuous"),
    (r"admires?|admired", "admiring", ""),
    (r"resents?|resented", "resentful", ""),
    (r"envies|envied|envy", "jealous", ""),
    (r"misses|missed|miss", "longing", ""),
    (r"forgives?|forgave|(?:has|have|['’]ve) forgiven", "forgiving", "unforgiving"),
    (r"betrays?|betrayed", "treacherous", ""),
    (r"owes?|owed", "indebted", ""),
]
_STATES = [
    (r"in love with", "loving", ""),
    (r"fond of", "fond", "cold"),
    (r"(?:angry|furious|mad|annoyed) (?:at|with)", "angry", ""),
    (r"(?:afraid|scared|frightened|terrified) of", "fearful", ""),
    (r"(?:wary|suspicious) of", "wary", ""),
    (r"jealous of|envious of", "jealous", ""),
    (r"(?:grateful|thankful|indebted) to", "grateful", ""),
    (r"proud of", "proud", "disappointed"),
    (r"loyal to|devoted to", "loyal", "disloyal"),
    (r"protective of", "protective", ""),
    (r"worried about|concerned about", "worried", ""),
    (r"disappointed (?:in|with|by)", "disappointed", ""),
    (r"married to", "married", ""),
    (r"engaged to", "engaged", ""),
    (r"(?:best )?friends with", "friendly", ""),
    (r"hostile to|hostile towards", "hostile", ""),
]
# What ends what.
_OPPOSITES: Mapping[str, tuple[str, ...]] = {
    "loving": ("hateful", "cold"), "hateful": ("loving", "fond", "friendly"), "trusting": ("wary",),
    "wary": ("trusting",), "fond": ("cold", "hateful"), "cold": ("fond", "loving"),
    "respectful": ("contemptuous",), "contemptuous": ("respectful", "admiring"),
    "forgiving": ("angry", "resentful", "unforgiving"), "unforgiving": ("forgiving",), "angry": ("forgiving",),
    "proud": ("disappointed",), "disappointed": ("proud",), "loyal": ("disloyal", "treacherous"),
    "disloyal": ("loyal",), "treacherous": ("loyal",), "friendly": ("hostile",), "hostile": ("friendly",),
}  # fmt: skip
_WHOM = r"(?P<whom>me|you|him|her|[^\W\d_a-z][\w-]*(?: [^\W\d_a-z][\w-]*){0,2})(?![\w'’])(?! [a-z]+(?:s|ing)\b)"
_STRONG = (
    r"deeply|truly|really|completely|utterly|absolutely|fiercely|desperately|madly|intensely|so|very|terribly|"
    r"passionately"
)
_WEAK = r"somewhat|slightly|a bit|a little|rather|almost|kind of|sort of|mildly"
_HOW = rf"(?P<how>(?:(?:{_STRONG}|{_WEAK}|now|still|also|always|never|not|no longer|secretly|finally) )*)"
_AFTER = re.compile(
    rf"^,? (?:(?P<strong>so much|very much|deeply|with all (?:my|her|his) heart|more than anything|completely|"
    rf"(?:{_STRONG}))|(?P<weak>a little|a bit|somewhat))\b"
)
_NO = r"(?P<no>(?:(?:do|does|did|can|could)(?: not|n['’]t)|cannot|(?:is|am|are|was|were)n['’]t|never|no longer) )?"
_IS = r"(?:(?:is|am|are|was|were|feels?|felt|seems?|grew|grows|became|fell|falls)|['’](?:m|s|re)) "
_DENIED = re.compile(r"\b(?:not|never|no longer)\b")


def _compiled() -> Iterator[tuple[re.Pattern[str], str, str]]:
    for verb, word, denied in _VERBS:
        yield re.compile(rf"(?<!['’\w]){_NO}{_HOW}(?:{verb}) {_WHOM}"), word, denied
    for state, word, denied in _STATES:
        yield re.compile(rf"(?:(?<=\s)|(?=['’])){_NO}(?:{_IS})?{_HOW}(?:{state}) {_WHOM}"), word, denied


_PATTERNS = list(_compiled())


def relationships(request: GenerationRequest) -> str:
    """The words that the turns add between two people, and those that they end."""
    names = {name.casefold(): name for name in request.material.get("names", ())}
    before = {
        (one["subject"].casefold(), one["target"].casefold()): {
            word["word"]: word["magnitude"] for word in one["descriptors"]
        }
        for one in request.material.get("known", ())
    }
    after = {pair: dict(words) for pair, words in before.items()}
    for statement in statements_of(request.material):
        for subject, target, word, magnitude in _said(statement):
            if {subject.casefold(), target.casefold()} <= names.keys():
                _put(after.setdefault((subject.casefold(), target.casefold()), {}), word, magnitude)
    lines = (_line(names, pair, before.get(pair, {}), words) for pair, words in after.items())
    return "\n".join(print_relationship(line) for line in lines if line) or "NONE"


def _put(words: Words, word: str, magnitude: str) -> None:
    """``word`` holds from now on, or no longer where ``magnitude`` is empty; what it excludes goes."""
    for ended in (word, *_OPPOSITES.get(word, ())) if magnitude else (word,):
        words.pop(ended, None)
    if magnitude:
        words[word] = magnitude


def _line(names: Mapping[str, Any], pair: Pair, before: Words, after: Words) -> RelationshipLine | None:
    added = tuple(Descriptor(word, magnitude) for word, magnitude in after.items() if before.get(word) != magnitude)
    removed = tuple(word for word in before if word not in after)
    return RelationshipLine(names[pair[0]], names[pair[1]], added, removed) if added or removed else None


def _said(statement: Statement) -> Iterator[tuple[str, str, str, str]]:
    """(subject, target, descriptor, magnitude) in the order of the sentence; no magnitude where it is denied."""
    if statement.asks:
        return
    found = [(match, word, denied) for pattern, word, denied in _PATTERNS for match in pattern.finditer(statement.text)]
    for match, word, denied in sorted(found, key=lambda item: item[0].start()):
        for subject in subjects(statement, match.start()):
            for target in person_meant(match["whom"], statement, match.start("whom")):
                if subject == target:
                    continue
                if match["no"] or _DENIED.search(match["how"]):
                    yield subject, target, word, ""
                    if denied and "longer" not in match[0]:
                        yield subject, target, denied, "medium"
                else:
                    yield subject, target, word, _magnitude(match, statement.text)


def _magnitude(match: re.Match[str], text: str) -> str:
    after = _AFTER.match(text[match.end() :])
    if (after and after["weak"]) or re.search(rf"\b(?:{_WEAK})\b", match["how"]):
        return "low"
    strong = (after and after["strong"]) or re.search(rf"\b(?:{_STRONG})\b", match["how"]) or "in love" in match[0]
    return "high" if strong else "medium"
