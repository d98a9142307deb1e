"""Answer the task ``relationships``: find stated feelings and relationships between two people."""

import re
from collections.abc import Iterator

from apps.builtin.reading.statements import Statement, resolve_person, statements_of, subjects
from apps.extraction.memories.relationships import Descriptor, RelationshipLine, format_relationship
from apps.llm.generation import GenerationRequest

Magnitudes = dict[str, str]  # magnitudes by descriptor

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
# Descriptors that apply if another one is denied.
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
    before: dict[tuple[str, str], Magnitudes] = {}
    for known in request.material.get("known", ()):
        magnitudes = {item["word"]: item["magnitude"] for item in known["descriptors"]}
        before[known["subject"].casefold(), known["target"].casefold()] = magnitudes
    after = {pair: dict(magnitudes) for pair, magnitudes in before.items()}
    for statement in statements_of(request.material):
        for subject, target, descriptor, magnitude in _descriptions(statement):
            pair = (subject.casefold(), target.casefold())
            if names.keys() >= set(pair):
                _set_descriptor(after.setdefault(pair, {}), descriptor, magnitude)
    lines = []
    for pair, magnitudes in after.items():
        old = before.get(pair, {})
        added = tuple(Descriptor(*item) for item in magnitudes.items() if old.get(item[0]) != item[1])
        removed = tuple(descriptor for descriptor in old if descriptor not in magnitudes)
        if added or removed:
            lines.append(RelationshipLine(names[pair[0]], names[pair[1]], added, removed))
    return "\n".join(map(format_relationship, lines)) or "NONE"


def _set_descriptor(magnitudes: Magnitudes, descriptor: str, magnitude: str) -> None:
    """Set a descriptor's magnitude and remove its opposites; an empty magnitude only removes the descriptor."""
    magnitudes.pop(descriptor, None)
    if magnitude:
        for other in [key for key in magnitudes if {key, descriptor} in _OPPOSITES]:
            del magnitudes[other]
        magnitudes[descriptor] = magnitude


def _descriptions(statement: Statement) -> Iterator[tuple[str, str, str, str]]:
    """Yield (subject, target, descriptor, magnitude) in sentence order; the magnitude is empty if denied."""
    matches = [(match, descriptor) for descriptor, pattern in _PATTERNS for match in pattern.finditer(statement.text)]
    for match, descriptor in [] if statement.is_question else sorted(matches, key=lambda item: item[0].start()):
        is_denied = match["no"] or re.search(r"\b(?:not|never|no longer)\b", match["how"])
        for subject in subjects(statement, match.start()):
            for target in resolve_person(match["whom"], statement, match.start("whom")):
                if subject != target:
                    yield subject, target, descriptor, "" if is_denied else _magnitude(match, statement.text)
                    if is_denied and descriptor in _DENIED and "longer" not in match[0]:
                        yield subject, target, _DENIED[descriptor], "medium"


def _magnitude(match: re.Match[str], text: str) -> str:
    """Return low, medium or high by the adverbs around a match."""
    after = _AFTER.match(text[match.end() :])
    if (after and after["weak"]) or re.search(rf"\b(?:{_WEAK})\b", match["how"]):
        return "low"
    strong = (after and after["strong"]) or re.search(rf"\b(?:{_STRONG})\b", match["how"]) or "in love" in match[0]
    return "high" if strong else "medium"
