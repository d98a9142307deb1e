"""Synonyms, opposites and classes of words. Pure."""

from collections import defaultdict
from functools import cache, lru_cache

from apps.english.lexicon.forms import stem
from apps.english.lexicon.wordnet import entries

# Synonyms in everyday speech that WordNet separates, or does not list in that sense.
_SYNONYMS = """
home house flat apartment place | reside live dwell | film movie | mum mom mother | dad father | kid child |
boyfriend partner | girlfriend partner | husband spouse | wife spouse | job work | shop store | car vehicle |
fond love like enjoy adore favourite favorite keen | hate dislike detest loathe despise |
afraid frighten scare fear terrify terrified | trust faith rely | wed marry married wife husband spouse |
pregnant expect | own belong possess property | command lead head charge | command captain | rescue save |
destroy burn fire | fracture break | phone telephone | begin start | physician doctor | graduate finish |
buy purchase | big large | near close | sick ill | close good best | friend pal buddy | call name |
allergic allergy | vegetarian vegan | brief short | teach teacher | pilot fly | afraid phobia | secretly secret |
quick fast | reside resident | stay live | run manage | lot many | soldier troops | kill murder slay | couple two |
birthday birthplace born birth | owe debt | depart leave | prefer like | food dish meal | near close | close nearby |
sibling brother | sibling sister | parent mother | parent father | lawyer attorney | talk speak | hide conceal |
situated located lie stand | bastard illegitimate | flee escape | title champion |
throne king | throne queen | crown king | crown queen | badge sheriff | office mayor | alcohol drink booze liquor |
confess admit reveal disclose | terrify scare frighten | shut close | craft forge make build
"""
# The first word of each group is the opposite of all the others.
_OPPOSITES = """
friend enemy rival foe | ally enemy rival foe | trust distrust betray suspect mistrust | stranger friend lover |
love hate despise loathe detest dislike | like hate dislike loathe detest despise | open close shut lock seal bar |
free captive prisoner imprison | locked unlocked | alive dead | healthy sick ill | safe dangerous |
guilty innocent | win lose | rich poor | intact break ruin destroy | whole break | single married engaged |
accept refuse reject | agree refuse | remember forget | loyal traitor betray | strong weak | calm angry furious |
happy sad miserable | brave afraid | full empty dry | dry wet flood | hot cold | early late | before after |
day night | left right | secret public | genuine forge fake false | real forge fake false imaginary |
taller shorter | older younger | bigger smaller | richer poorer | stronger weaker | higher lower | faster slower |
better worse | asleep awake | forbid allow permit let | ban allow permit | prohibit allow permit | deny confirm |
support oppose | sober drunk | clean dirty filthy | sharp blunt dull | fat thin skinny slim | tall short |
tidy messy | quiet loud noisy | polite rude | generous greedy stingy | shy outgoing confident | cheap expensive |
fertile barren | public private | temporary permanent | tame wild feral | shallow deep | optional mandatory |
fresh stale | stranger sister brother member | saint fraud villain | hero villain coward traitor | sheathe draw |
winner loser | optimist pessimist | novice expert | ahead behind | victory defeat | profit loss
"""
# Each word of a group is the opposite of all the others.
_EXCLUSIVE = """
dawn noon dusk midnight | morning afternoon evening night | spring summer autumn winter | north south east west |
human vampire werewolf demon elf ghost | first second third last
"""

MIN_NEGATED_LETTERS = 4  # minimum length of a stem to which "un" and the like are added
MIN_ROOT_LETTERS = 5  # minimum length of a stem that gives its meaning to longer words


@lru_cache(maxsize=16384)
def alike(one: str, two: str) -> bool:
    """Return whether two stems mean nearly the same, or one is derived from the other."""
    return one == two or two in _pairs()["alike"].get(one, ()) or _extends(one, two) or _extends(two, one)


def _extends(one: str, two: str) -> bool:
    """Return whether ``two`` begins with ``one``, as birthplace begins with birth."""
    return len(one) >= MIN_ROOT_LETTERS and two.startswith(one)


_NEGATING = ("un", "in", "im", "ir", "il", "dis", "mis", "non")


@lru_cache(maxsize=16384)
def opposite(one: str, two: str) -> bool:
    """Return whether two stems exclude each other."""
    return two in _pairs()["opposite"].get(one, ()) or _negates(one, two) or _negates(two, one)


def _negates(one: str, two: str) -> bool:
    """Return whether ``one`` is ``two`` with a negating prefix or suffix: disloyal, useless."""
    if len(two) >= MIN_NEGATED_LETTERS and one.endswith(two) and one.removesuffix(two) in _NEGATING:
        return True
    return one.endswith("less") and two.endswith("ful") and one[:-4] == two[:-3]


def members(name: str) -> frozenset[str]:
    """Return the stems of a class: occupation, person, kin, body, illness, animal, verb, noun_or_verb, transition."""
    return _classes()[name]


@cache
def _pairs() -> dict[str, dict[str, set[str]]]:
    found: dict[str, dict[str, set[str]]] = {"alike": defaultdict(set), "opposite": defaultdict(set)}
    for relation, first, *others in entries():
        if relation in found:
            _relate(found[relation], first, others)
    for group in _groups(_OPPOSITES):
        _relate(found["opposite"], group[0], group[1:])
    for relation, groups in (("alike", _SYNONYMS), ("opposite", _EXCLUSIVE)):
        for group in _groups(groups):
            for place, word in enumerate(group):
                _relate(found[relation], word, group[place + 1 :])
    return found


def _groups(text: str) -> list[list[str]]:
    return [group.split() for group in text.split("|")]


def _relate(pairs: dict[str, set[str]], first: str, others: list[str]) -> None:
    for other in others:
        one, two = stem(first), stem(other)
        if one != two:
            pairs[one].add(two)
            pairs[two].add(one)


@cache
def _classes() -> dict[str, frozenset[str]]:
    return {first: frozenset(map(stem, words)) for relation, first, *words in entries() if relation == "class"}
