"""Task ``relationships``: how people say, or are said, to stand to each other."""

import re
from collections.abc import Iterator

from apps.builtin.statements import Statement, person_meant, statements_of, subjects
from apps.extraction.parsers.relationships import Descriptor, RelationshipLine, print_relationship
from apps.llm.generation import GenerationRequest

Words = dict[str, str]  # descriptor: magnitude

# What is said, by its descriptor; after "to be" or without it.
_VERBS = {
    "loving": "loves?|loved|adores?|adored", "hateful": "hates?|hated|loathes?|detests?|despises?|despised",
    "trusting": "trusts?|trusted", "wary": "distrusts?|distrusted|mistrusts?|suspects?", "fearful": "fears?|feared",
    "fond": "likes?|liked", "cold": "dislikes?|disliked", "respectful": "respects?|respected|admires?|admired",
    "resentful": "resents?|resented", "longing": "miss(?:es|ed)?", "treacherous": "betrays?|betrayed",
    "forgiving": "forgives?|forgave|(?:has|have|['’]ve) forgiven", "indebted": "owes?|owed",
}  # fmt: skip
_STATES = {
    "loving": "in love with", "fond": "fond of", "angry": "(?:angry|furious|mad|annoyed) (?:at|with)",
    "fearful": "(?:afraid|scared|terrified) of", "wary": "(?:wary|suspicious) of", "jealous": "(?:jealous|envious) of",
    "grateful": "(?:grateful|thankful|indebted) to", "proud": "proud of", "loyal": "(?:loyal|devoted) to",
    "worried": "worried about", "disappointed": "disappointed (?:in|with|by)", "married": "married to",
    "engaged": "engaged to", "friendly": "(?:best )?friends with",
}  # fmt: skip
# What is so where another is denied.
_DENIED = {
    "trusting": "wary", "fond": "cold", "respectful": "contemptuous", "forgiving": "unforgiving",
    "proud": "disappointed", "loyal": "disloyal",
}  # fmt: skip
# Each ends the other.
_OPPOSITES = [
    *map(set, _DENIED.items()), {"loving", "hateful"}, {"loving", "cold"}, {"fond", "hateful"},
    {"forgiving", "angry"}, {"forgiving", "resentful"}, {"loyal", "treacherous"},
]  # fmt: skip
_WHOM = r"(?P<whom>me|you|him|her|[^\W\d_a-z][\w-]*(?: [^\W\d_a-z][\w-]*){0,2})(?![\w'’])(?! [a-z]+(?:s|ing)\b)"
_STRONG = "deeply|truly|really|completely|utterly|fiercely|desperately|so|very"
_WEAK = "somewhat|slightly|a bit|a little|rather|almost"
_HOW = rf"(?P<how>(?:(?:{_STRONG}|{_WEAK}|now|still|also|always|never|not|no longer|secretly|finally) )*)"
_AFTER = re.compile(
    rf"^,? (?:(?P<strong>so much|very much|with all \w+ heart|more than anything|{_STRONG})|(?P<weak>{_WEAK}))\b"
)
_NO = r"(?P<no>(?:(?:do|does|did|can|could)(?: not|n['’]t)|cannot|(?:is|am|are|was|were)n['’]t|never|no longer) )?"
_IS = r"(?:(?:is|am|are|was|were|feels?|felt|seems?|grew|grows|became|fell)|['’](?:m|s|re)) "
_PATTERNS = [(word, re.compile(rf"(?<!['’\w]){_NO}{_HOW}(?:{verb}) {_WHOM}")) for word, verb in _VERBS.items()] + [
    (word, re.compile(rf"(?:(?<=\s)|(?=['’])){_NO}(?:{_IS})?{_HOW}(?:{state}) {_WHOM}"))
    for word, state in _STATES.items()
]


def relationships(request: GenerationRequest) -> str:
    """Print the words that the turns add between two people, and those that they end."""
    names = {name.casefold(): name for name in request.material.get("names", ())}
    before: dict[tuple[str, str], Words] = {
        (one["subject"].casefold(), one["target"].casefold()): {
            word["word"]: word["magnitude"] for word in one["descriptors"]
        }
        for one in request.material.get("known", ())
    }
    after = {pair: dict(words) for pair, words in before.items()}
    for statement in statements_of(request.material):
        for subject, target, word, magnitude in _said(statement):
            pair = (subject.casefold(), target.casefold())
            if names.keys() >= set(pair):
                _put(after.setdefault(pair, {}), word, magnitude)
    lines = []
    for pair, words in after.items():
        old = before.get(pair, {})
        added = tuple(Descriptor(word, magnitude) for word, magnitude in words.items() if old.get(word) != magnitude)
        removed = tuple(word for word in old if word not in words)
        if added or removed:
            lines.append(RelationshipLine(names[pair[0]], names[pair[1]], added, removed))
    return "\n".join(map(print_relationship, lines)) or "NONE"


def _put(words: Words, word: str, magnitude: str) -> None:
    """Note that ``word`` holds from now on, and its opposites no longer; an empty magnitude only ends it."""
    words.pop(word, None)
    if magnitude:
        for other in [one for one in words if {one, word} in _OPPOSITES]:
            del words[other]
        words[word] = magnitude


def _said(statement: Statement) -> Iterator[tuple[str, str, str, str]]:
    """Yield (subject, target, descriptor, magnitude) in the order of the sentence; no magnitude where it is denied."""
    found = [(match, word) for word, pattern in _PATTERNS for match in pattern.finditer(statement.text)]
    for match, word in [] if statement.asks else sorted(found, key=lambda item: item[0].start()):
        denied = match["no"] or re.search(r"\b(?:not|never|no longer)\b", match["how"])
        for subject in subjects(statement, match.start()):
            for target in person_meant(match["whom"], statement, match.start("whom")):
                if subject != target:
                    yield subject, target, word, "" if denied else _magnitude(match, statement.text)
                    if denied and word in _DENIED and "longer" not in match[0]:
                        yield subject, target, _DENIED[word], "medium"


def _magnitude(match: re.Match[str], text: str) -> str:
    after = _AFTER.match(text[match.end() :])
    if (after and after["weak"]) or re.search(rf"\b(?:{_WEAK})\b", match["how"]):
        return "low"
    strong = (after and after["strong"]) or re.search(rf"\b(?:{_STRONG})\b", match["how"]) or "in love" in match[0]
    return "high" if strong else "medium"
