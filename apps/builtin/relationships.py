"""Answer the task ``relationships``: find stated feelings and relationships between two people."""

import re
from collections.abc import Iterator

from apps.builtin.statements import Statement, resolve_person, statements_of, subjects
from apps.extraction.parsers.relationships import Descriptor, RelationshipLine, format_relationship
from apps.llm.generation import GenerationRequest

Descriptors = dict[str, str]  # magnitudes by descriptor

# Patterns by descriptor: verbs, then states, which may follow a form of "to be".
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
# Descriptor that holds if another is denied.
_DENIED = {
    "trusting": "wary", "fond": "cold", "respectful": "contemptuous", "forgiving": "unforgiving",
    "proud": "disappointed", "loyal": "disloyal",
}  # fmt: skip
# Pairs of descriptors that exclude each other.
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
    """Return lines for the descriptors that the turns add or remove between two people."""
    names = {name.casefold(): name for name in request.material.get("names", ())}
    before: dict[tuple[str, str], Descriptors] = {}
    for known in request.material.get("known", ()):
        words = {one["word"]: one["magnitude"] for one in known["descriptors"]}
        before[known["subject"].casefold(), known["target"].casefold()] = words
    after = {pair: dict(words) for pair, words in before.items()}
    for statement in statements_of(request.material):
        for subject, target, word, magnitude in _descriptions(statement):
            pair = (subject.casefold(), target.casefold())
            if names.keys() >= set(pair):
                _set_descriptor(after.setdefault(pair, {}), word, magnitude)
    lines = []
    for pair, words in after.items():
        old = before.get(pair, {})
        added = tuple(Descriptor(word, magnitude) for word, magnitude in words.items() if old.get(word) != magnitude)
        removed = tuple(word for word in old if word not in words)
        if added or removed:
            lines.append(RelationshipLine(names[pair[0]], names[pair[1]], added, removed))
    return "\n".join(map(format_relationship, lines)) or "NONE"


def _set_descriptor(words: Descriptors, word: str, magnitude: str) -> None:
    """Set a descriptor's magnitude and remove its opposites; an empty magnitude only removes the descriptor."""
    words.pop(word, None)
    if magnitude:
        for other in [one for one in words if {one, word} in _OPPOSITES]:
            del words[other]
        words[word] = magnitude


def _descriptions(statement: Statement) -> Iterator[tuple[str, str, str, str]]:
    """Yield (subject, target, descriptor, magnitude) in sentence order; the magnitude is empty if denied."""
    matches = [(match, word) for word, pattern in _PATTERNS for match in pattern.finditer(statement.text)]
    for match, word in [] if statement.is_question else sorted(matches, key=lambda item: item[0].start()):
        denied = match["no"] or re.search(r"\b(?:not|never|no longer)\b", match["how"])
        for subject in subjects(statement, match.start()):
            for target in resolve_person(match["whom"], statement, match.start("whom")):
                if subject != target:
                    yield subject, target, word, "" if denied else _magnitude(match, statement.text)
                    if denied and word in _DENIED and "longer" not in match[0]:
                        yield subject, target, _DENIED[word], "medium"


def _magnitude(match: re.Match[str], text: str) -> str:
    """Return low, medium or high by the adverbs around a match."""
    after = _AFTER.match(text[match.end() :])
    if (after and after["weak"]) or re.search(rf"\b(?:{_WEAK})\b", match["how"]):
        return "low"
    strong = (after and after["strong"]) or re.search(rf"\b(?:{_STRONG})\b", match["how"]) or "in love" in match[0]
    return "high" if strong else "medium"
