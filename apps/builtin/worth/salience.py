"""Score how informative a sentence is out of context, and classify it by tier and kind. Without database access.

The weights are round numbers, set by ``manage.py evaluate --format extraction``. They rely on English grammar
(names, numbers, tense, person) and short closed lists, because a list of topics would fit only one chat.
"""

import re
from collections.abc import Iterable, Sequence

from apps.builtin.reading.sentences import Sentence
from apps.builtin.worth.self_descriptions import describes_oneself
from apps.english.words import content_words

SESSION, LONG_TERM = "session", "long_term"
MIN_WORDS, MAX_COUNTED_WORDS = 6, 20  # shorter sentences are penalised; further words add nothing
MIN_CONTENT_WORDS = 4
WORD, TOO_SHORT, LITTLE_CONTENT = 0.04, 1.0, 0.6  # each word adds to the salience; too few, or too vague ones, take
SPOKEN_NAME, MAX_SPOKEN_NAMES = 0.8, 3
NARRATED_NAME, MAX_NARRATED_NAMES = 0.4, 2  # less, since most narration names people
ABOUT_ONESELF, STATED, UNKNOWN_PERSON = 0.7, 0.3, 0.6  # in speech: "my", a verb of state; taken for "he" before a name
ABOUT_NOBODY, VAGUE_WORD = 2.0, 0.35  # are taken
WANTED, DESCRIPTIVE = 2.6, 1.7  # lowest salience of importance 3 and 2
MAX_VAGUE_WORDS = 3  # maximum number of vague words that count


def _any_of(alternatives: str) -> re.Pattern[str]:
    """Return the pattern of texts that contain one of the words, which are patterns separated by spaces."""
    return re.compile(rf"\b(?:{'|'.join(alternatives.split())})\b", re.IGNORECASE)


def _starts_with(alternatives: str) -> re.Pattern[str]:
    """Return the pattern of texts that begin with one of the words."""
    return re.compile(rf"^(?:{'|'.join(alternatives.split())})\b", re.IGNORECASE)


DATE = _any_of(
    r"""yesterday today tonight tomorrow ago weekend birthday anniversary morning evening \w+day january february march
    april june july august september october november december spring summer autumn winter years? months? weeks?"""
)
PREFERENCE = re.compile(
    r"\b(?:lov(?:es?|ed)|hat(?:es?|ed)|prefer(?:s|red)?|favou?rites?|enjoy(?:s|ed)?|dislikes?|afraid|fears?|scared|"
    r"allergic|fond|can['’]t (?:stand|eat|bear)|(?:i|we|they|you|also|really|n['’]t|not) like)\b",
    re.IGNORECASE,
)
RELATIONSHIP = _any_of(
    r"""friends? friendship trusts? trusted marr(?:y|ied) wife husband spouse engaged divorced fianc[eé]e? mother father
    mom mum dad sister brother daughter son aunt uncle cousin grand\w+ niece nephew parents? family girlfriend boyfriend
    partner lover betray\w* all(?:y|ies) enem(?:y|ies) rivals? apprentice mentor boss colleague neighbou?r dating loyal
    owes? owed forg[ai]ve\w*"""
)
# Completed events: regular past tenses and the most common irregular ones.
EVENT = _any_of(
    r"""[a-z]{2,}[^e\W]ed left went gone came bought sold gave given took taken stole stolen lost found won met began
    broke broken built hid hidden paid made wrote ran sent got saw taught became born dead"""
)
# Events that change a life permanently.
_LASTING = _any_of(
    """died dead born killed married engaged divorced pregnant moved graduated hired fired quit resigned retired joined
    founded adopted bought sold lost won promoted named inherited"""
)
STATE = _any_of(
    r"""is are was were am has have had \w+['’](?:m|s|re|ve) lives? works? keeps? owns? called named belongs? knows?
    wears? carries holds? means? contains? needs? wants?"""
)
REVELATION = _any_of(
    r"""secrets? lies? lied lying truth confess\w* admit\w* reveal\w* discover\w* reali[sz]ed actually pretend\w*
    traitor alive"""
)
DEVELOPMENT = re.compile(
    r"\b(?:decid\w+|agree\w*|promis\w+|sw(?:ear|ore|orn)|vow\w*|plan(?:s|ned|ning)?|going to|will|shall|tomorrow|"
    r"next (?:week|month|year|time|weekend)|start(?:s|ed|ing)?|beg(?:in|an|ins|inning)|bec(?:ome|ame|omes)|chang\w+|"
    r"(?:work|try|look|hop)ing (?:on|to|for)|wants? to)\b|['’]ll\b",
    re.IGNORECASE,
)
SCENE = _any_of(
    r"""arriv\w+ reach\w* enter\w* st[ao][no]d\w* s[ia]ts? door room rain snow fog night dawn dusk morning evening fire
    road bridge window light dark wind sea street house"""
)
_NUMBER = _any_of(
    r"""\d[\w.,:]* two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand
    twice half dozen"""
)
_BONUSES = (
    (0.5, _NUMBER), (0.6, DATE), (0.5, PREFERENCE), (0.8, RELATIONSHIP), (0.7, EVENT), (0.8, _LASTING),
    (0.5, REVELATION), (0.2, DEVELOPMENT),
)  # fmt: skip
# Doubt, small talk, second person, comparisons, feelings, pictures, fragments, exclamations and questions.
_PENALTIES = (
    (1.0, _any_of("maybe might perhaps possibly probably guess wonder would could should can let['’]s if unless "
                 "whether suppose wish hope")),
    (0.4, _SMALL_TALK := _any_of("hey hi hello bye thanks? wow awesome cool great amazing congrat\\w+ sorry sure okay "
                                "ok yeah yes welcome glad sounds haha lol please")),
    (0.5, _any_of("you your yours yourself")),
    (0.8, re.compile(r"\b(?:like (?:a|an|the|some\w+|one|two)|as if|as though)\b", re.IGNORECASE)),
    (0.5, re.compile(r"\b(?:feel(?:s|ing)?|felt|ma[kd]es? (?:me|us|you)|seem(?:s|ed)?|reminds?)\b", re.IGNORECASE)),
    (0.8, _any_of("here['’]s pics? pictures? photos? shot something")),
    (2.5, re.compile(r"^['‘a-z]")),
    (0.8, re.compile(r"!$")),
    (5.0, re.compile(r"[?？؟][\"'”’*) ]*$")),
)  # fmt: skip
# In speech: reactions, orders, praise, and sentences that need the previous one to be understood.
_SPOKEN_PENALTIES = (
    (1.2, re.compile(f"^{_SMALL_TALK.pattern}", re.IGNORECASE)),
    (1.5, _starts_with("please let come go tell look listen wait give take keep don['’]t stop be show")),
    (0.8, _any_of("inspir\\w+ amazing incredible impact difference proud appreciate support important matters")),
    (0.6, _starts_with("and but so then because or well")),
    (1.0, re.compile(r"^(?:and |but |so |yeah,? |well,? )?(?:it|that|this|these|those|they|there|he|she)\b", re.I)),
    (0.6, re.compile(r"^It was\b|\b(?:told|about|of) that [a-z]+")),
)  # fmt: skip
_NARRATED_PENALTIES = (
    (0.2, re.compile("")), (0.8, _starts_with("there it that this these those")),
    (0.8, re.compile(r"\b(?:was|were) \w+ing\b|\b(?:look|smil|laugh|cri|listen|nodd)ed\b")),  # what passes in a moment
)  # fmt: skip
_VAGUE_WORDS = _any_of("it this that these those they them something things? stuff ones? everything lots?")
_THIRD_PERSON = _any_of("he she they him her them his their")
# Chat messages often omit the "I", as in "Just started aerial yoga".
_PERSONAL = re.compile(
    r"\b(?:i|my|me|mine|we|our|us)\b|^(?:just|been|got|had|went|took|started|finished|finally|still|moved|bought|joined)\b",
    re.IGNORECASE,
)


def salience(sentence: Sentence, names: Sequence[str]) -> float:
    """Return how informative a sentence is; uninformative is below 0. ``names`` are the entities that it is about.

    What somebody wants to be remembered, and how they describe themselves, counts for more than its words do.
    """
    if sentence.wanted:
        return WANTED
    score = _score_of(sentence, names)
    return max(score, DESCRIPTIVE) if sentence.spoken and describes_oneself(sentence.text) else score


def _score_of(sentence: Sentence, names: Sequence[str]) -> float:
    text, spoken, length = sentence.text, sentence.spoken, len(sentence.words)
    personal = bool(_PERSONAL.search(text))
    mode_penalties = _SPOKEN_PENALTIES if spoken else _NARRATED_PENALTIES
    score = _total(_BONUSES, text) - _total(_PENALTIES, text) - _total(mode_penalties, text)
    if spoken:
        first = min((position for name in names if (position := text.find(name)) >= 0), default=len(text))
        score += SPOKEN_NAME * min(len(names), MAX_SPOKEN_NAMES)
        score += ABOUT_ONESELF * personal + STATED * bool(STATE.search(text))
        score -= UNKNOWN_PERSON * bool(_THIRD_PERSON.search(text, 0, first))
    else:
        score += NARRATED_NAME * min(len(names), MAX_NARRATED_NAMES)
    score += WORD * min(length, MAX_COUNTED_WORDS) - TOO_SHORT * (length < MIN_WORDS)
    score -= ABOUT_NOBODY * (not names and not personal)
    score -= VAGUE_WORD * min(len(_VAGUE_WORDS.findall(text)), MAX_VAGUE_WORDS)
    content = [word for word in content_words(text) if "'" not in word]  # "I'll" has no meaning of its own
    return score - LITTLE_CONTENT * (not names and len(content) < MIN_CONTENT_WORDS)


def _total(weights: Iterable[tuple[float, re.Pattern[str]]], text: str) -> float:
    return sum(weight for weight, pattern in weights if pattern.search(text))


_RECENT = re.compile(
    r"\b(?:yesterday|today|tonight|just|recently|lately|on \w+day|(?:last|this) (?:week\w*|month|night|\w+day))\b",
    re.I,
)

_SPOKEN_KINDS = (
    (PREFERENCE, LONG_TERM, "preference"), (REVELATION, SESSION, "revelation"),
    (RELATIONSHIP, LONG_TERM, "relationship"), (DEVELOPMENT, SESSION, "development"),
    (EVENT, LONG_TERM, "event"), (re.compile(""), LONG_TERM, "fact"),
)  # fmt: skip
_NARRATED_KINDS = (
    (_LASTING, LONG_TERM, "event"), (RELATIONSHIP, LONG_TERM, "relationship"), (REVELATION, SESSION, "revelation"),
    (DEVELOPMENT, SESSION, "development"), (SCENE, SESSION, "scene"), (re.compile(""), SESSION, "detail"),
)  # fmt: skip


def classify(sentence: Sentence) -> tuple[str, str]:
    """Return the tier and kind of a sentence: long-term for lasting facts about people, session for current events.

    It depends only on the sentence, so that the separate tasks of the two tiers never both remember a sentence.
    """
    text = sentence.text
    kinds = _SPOKEN_KINDS if sentence.spoken else _NARRATED_KINDS
    tier, kind = next((tier, kind) for pattern, tier, kind in kinds if pattern.search(text))
    if kind == "event" and sentence.spoken and describes_oneself(text):
        return LONG_TERM, "fact"  # "left-handed" is no past tense
    if sentence.wanted:
        return LONG_TERM, kind if tier == LONG_TERM else "fact"
    if kind == "event" and _RECENT.search(text) and not _LASTING.search(text):
        return SESSION, "detail"
    return tier, kind


def importance(score: float) -> int:
    """Return the importance, 1 to 3, of a sentence with the salience ``score``."""
    return 3 if score >= WANTED else 2 if score >= DESCRIPTIVE else 1
