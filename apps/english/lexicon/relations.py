"""Synonyms, antonyms and classes of words. Without database access."""

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
# The first word of each group is an antonym of all the others.
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
# Each word of a group excludes all the others.
_EXCLUSIVE = """
dawn noon dusk midnight | morning afternoon evening night | spring summer autumn winter | north south east west |
human vampire werewolf demon elf ghost | first second third last
"""

MIN_NEGATED_LETTERS = 4  # minimum length of a stem to which "un" and the like are added
MIN_ROOT_LETTERS = 5  # minimum length of a stem to which longer words are related


@lru_cache(maxsize=16384)
def are_synonyms(first: str, second: str) -> bool:
    """Return whether two stems are near-synonyms, or one is derived from the other."""
    synonyms = _related_stems()["alike"].get(first, ())
    return first == second or second in synonyms or _extends(first, second) or _extends(second, first)


def _extends(root: str, word: str) -> bool:
    """Return whether ``word`` begins with ``root``, as birthplace begins with birth."""
    return len(root) >= MIN_ROOT_LETTERS and word.startswith(root)


_NEGATING = ("un", "in", "im", "ir", "il", "dis", "mis", "non")


@lru_cache(maxsize=16384)
def are_antonyms(first: str, second: str) -> bool:
    """Return whether two stems are antonyms or exclude each other."""
    return second in _related_stems()["opposite"].get(first, ()) or _negates(first, second) or _negates(second, first)


def _negates(negated: str, word: str) -> bool:
    """Return whether ``negated`` negates ``word`` by a prefix or suffix: disloyal and loyal, useless and useful."""
    if len(word) >= MIN_NEGATED_LETTERS and negated.endswith(word) and negated.removesuffix(word) in _NEGATING:
        return True
    return negated.endswith("less") and word.endswith("ful") and negated[:-4] == word[:-3]


def word_class(name: str) -> frozenset[str]:
    """Return the stems of a class: occupation, person, kin, body, illness, animal, verb, noun_or_verb, transition."""
    return _classes()[name]


@cache
def _related_stems() -> dict[str, dict[str, set[str]]]:
    related: dict[str, dict[str, set[str]]] = {"alike": defaultdict(set), "opposite": defaultdict(set)}
    for relation, first, *others in entries():
        if relation in related:
            _add_pairs(related[relation], first, others)
    for group in _groups(_OPPOSITES):
        _add_pairs(related["opposite"], group[0], group[1:])
    for relation, groups in (("alike", _SYNONYMS), ("opposite", _EXCLUSIVE)):
        for group in _groups(groups):
            for position, word in enumerate(group):
                _add_pairs(related[relation], word, group[position + 1 :])
    return related


def _groups(text: str) -> list[list[str]]:
    return [group.split() for group in text.split("|")]


def _add_pairs(pairs: dict[str, set[str]], first: str, others: list[str]) -> None:
    for other in others:
        first_stem, other_stem = stem(first), stem(other)
        if first_stem != other_stem:
            pairs[first_stem].add(other_stem)
            pairs[other_stem].add(first_stem)


@cache
def _classes() -> dict[str, frozenset[str]]:
    return {first: frozenset(map(stem, words)) for relation, first, *words in entries() if relation == "class"}
