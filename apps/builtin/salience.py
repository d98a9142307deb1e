"""How much a sentence tells, and what kind of memory it makes. Pure.

The weights are round numbers, set by reading what they pick from role-play, and by ``manage.py evaluate --format
extraction`` on everyday chat, where each change had to help the conversations that it was not set on too.
"""

import re
from collections.abc import Mapping, Sequence

from apps.builtin.context import Context
from apps.builtin.sentences import Sentence
from apps.memories.claims import claims


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(" ".join(alternatives).split()) + r")\b", re.IGNORECASE)


_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|hundred|"
    r"thousand|once|twice|first|second|third|half|dozen)\b",
    re.IGNORECASE,
)
_DATE = _words(
    "yesterday today tonight tomorrow ago weekend birthday anniversary morning evening",
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august",
    "september october november december spring summer autumn winter year years month months week weeks",
)
_TASTE = _words(
    "likes liked loves? loved hates? hated prefers? preferred favou?rites? enjoys? enjoyed adores? dislikes? afraid",
    "fears? feared scared allergic fond detests? loathes? despises?",
)
# "like" after a person is a taste; after anything else, a comparison.
PREFERENCE = re.compile(rf"{_TASTE.pattern}|\b(?:i|we|they|you|also|really|n['’]t|not) like\b", re.IGNORECASE)
RELATIONSHIP = _words(
    "friends? friendship trusts? trusted distrusts? married marry marries wife husband spouse engaged divorced "
    "fianc[eé]e?",
    "mother father mom mum dad sister brother daughter son aunt uncle cousin grandmother grandfather grandma grandpa",
    "niece nephew parents? family girlfriend boyfriend partner lover betrayed betrays? all(?:y|ies) "
    "enem(?:y|ies) rivals?",
    "apprentice mentor boss colleague neighbou?r dating loyal owes? owed forgave forgives? forgiven",
)
EVENT = _words(
    "moved moves moving left arrived went gone came returned bought sold gave given took taken stole stolen lost found",
    "won died dead killed born married signed joined quit resigned fired hired promoted started began finished ended",
    "opened closed broke broken built burned burnt wounded hurt healed cured recovered adopted graduated visited met",
    "travell?ed attended planned hid hidden buried drowned escaped captured freed paid repaid saved made painted wrote",
    "ran raised passed failed celebrated received sent volunteered completed learned learnt created happened",
)
STATE = _words(
    "is are was were am has have had i'm he's she's it's lives? lived works? worked keeps? kept owns? owned "
    "called named",
    "belongs? stands? stays? stayed means? knows? knew wears? carries carried holds? costs? contains? needs? wants?",
)
REVELATION = _words(
    "secret secrets lie lies lied lying truth true confess(?:es|ed)? admits? admitted reveal(?:s|ed)? "
    "discover(?:s|ed)?",
    "realis(?:es|ed) realiz(?:es|ed) actually false hidden pretend(?:s|ed)? alive traitor betrayed knew",
    "never told",
)
DEVELOPMENT = _words(
    "decided? decides agrees? agreed promise[sd]? swear swears swore sworn vow(?:s|ed)? plans? planned going "
    "will shall",
    "resigned quit joins? joined starts? started begins? began becomes? became changes? changed moves? moved "
    "leaves? left",
    "signs? signed pays? paid heals? healed returns? returned breaks? broke burns? burned ends? ended gave given took",
)
SCENE = _words(
    "arrived? arrives reach(?:es|ed)? enters? entered stands? stood sits? sat door room rain snow fog night dawn dusk",
    "morning evening fire harbour road bridge table window light dark wind sea street house kitchen market",
)
_PERSONAL = _words("i my me mine we our us i'm i've i'd we're we've")
# "Just started aerial yoga": chat leaves the "I" out.
_ELIDED = re.compile(
    r"^(?:just|been|got|had|went|took|started|finished|finally|still|working|planning|moved|bought|joined)\b", re.I
)
_HEDGE = _words(
    "maybe might perhaps possibly probably guess wonder would could should can let's if unless whether suppose "
    "wish hope"
)
# "It really fired me up": nobody knows later what "it" was.
_DANGLING = re.compile(
    r"^(?:and |but |so |yeah,? )?(?:it|it['’]s|that|that['’]s|this|these|those|they|they['’]re|there)\b", re.I
)
_PRAISE = _words("inspiring inspires? amazing incredible impact difference proud appreciate support important matters")
_SMALL_TALK = _words(
    "hey hi hello bye thanks thank wow awesome cool great amazing congrats congratulations sorry sure okay ok yeah yes",
    "welcome glad sounds haha lol please",
)
_COMMAND = re.compile(
    r"^(?:please\s+)?(?:let|come|go|tell|look|listen|wait|give|take|keep|don['’]t|stop|be|show)\b", re.I
)
_YOU = re.compile(r"\b(?:you|your|yours|you're|you’re)\b", re.IGNORECASE)


MUCH_NEWS = 15  # words; more of them tell no more
_WEAK_CLAIMS = {"having", "taste", "opening", "presence", "renewal", "siblings", "company", "purity"}


def _states(text: str) -> set[str]:
    """What the sentence tells of that can change: where somebody lives, what they do, who has a thing ..."""
    return {claim.attribute for claim in claims(text)} - _WEAK_CLAIMS


def tells_of_a_change(text: str) -> bool:
    return any(claim.moves for claim in claims(text) if claim.attribute not in _WEAK_CLAIMS)


def salience(sentence: Sentence, names: Sequence[str]) -> float:
    """What the sentence tells by itself; below 0, nothing. ``names`` are those of whom or what it is about."""
    text = sentence.text
    personal = bool(_PERSONAL.search(text) or (sentence.spoken and _ELIDED.match(text)))
    told = _content(text, names) + 0.7 * (sentence.spoken and personal) + 0.04 * min(len(sentence.words), 20)
    return told - _emptiness(sentence, names, personal)


def _content(text: str, names: Sequence[str]) -> float:
    """What it tells of: names, times, what happens and what is."""
    score = 0.8 * min(len(names), 3) + 0.5 * bool(_NUMBER.search(text)) + 0.6 * bool(_DATE.search(text))
    score += 0.7 * bool(EVENT.search(text)) + 0.3 * bool(STATE.search(text))
    score += 0.8 * bool(RELATIONSHIP.search(text)) + 0.5 * bool(PREFERENCE.search(text))
    score += 0.5 * bool(REVELATION.search(text)) + 0.2 * bool(DEVELOPMENT.search(text))
    return score + 0.2 * min(len(_states(text)), 2) + 0.8 * tells_of_a_change(text)


def bearing(context: Context) -> float:
    """What the turn adds: who answers a question tells more than who asks one, who brings up much that is new most."""
    return 0.8 * context.answers - 0.4 * context.asks + 0.16 * min(context.news, MUCH_NEWS)


def _emptiness(sentence: Sentence, names: Sequence[str], personal: bool) -> float:
    """What makes it a question, a reaction, or a remark that nobody understands later."""
    text, spoken = sentence.text, sentence.spoken
    loss = 5.0 * text.rstrip("\"'”’*) ").endswith("?") + 1.0 * bool(_HEDGE.search(text))
    loss += 1.2 * bool(_SMALL_TALK.match(text)) + 0.4 * bool(_SMALL_TALK.search(text))
    loss += 1.5 * bool(spoken and _COMMAND.match(text)) + 0.8 * bool(spoken and _PRAISE.search(text))
    loss += 0.5 * bool(_YOU.search(text)) + 0.8 * text.endswith("!")
    loss += 0.7 * bool(not names and _DANGLING.match(text))
    return loss + 2.0 * (not names and not personal) + 1.0 * (len(sentence.words) < 6)


LONG_TERM_KINDS: Mapping[str, re.Pattern[str]] = {
    "event": EVENT,
    "preference": PREFERENCE,
    "relationship": RELATIONSHIP,
}
SESSION_KINDS: Mapping[str, re.Pattern[str]] = {
    "revelation": REVELATION,
    "development": DEVELOPMENT,
    "scene": SCENE,
}


def kind_of(sentence: Sentence, kinds: Mapping[str, re.Pattern[str]], otherwise: str) -> str:
    """The kind most of whose words the sentence has; the first of equals, ``otherwise`` where it has none."""
    counts = {kind: len(pattern.findall(sentence.text)) for kind, pattern in kinds.items()}
    best = max(counts, key=lambda kind: counts[kind])
    return best if counts[best] else otherwise


def importance(score: float) -> int:
    """1 to 3 by salience."""
    return 3 if score >= 3.5 else 2 if score >= 2 else 1
