"""Stems of inflected English words. Without database access."""

from functools import lru_cache

from apps.english.lexicon.wordnet import vocabulary

# Irregular verbs: base, past, participle (if it differs).
_IRREGULAR = """
be was were been|bear bore borne|beat beat beaten|become became become|begin began begun|bend bent|bet bet|bind bound
bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt
buy bought|catch caught|choose chose chosen|cling clung|come came come|creep crept|dig dug|do did done|draw drew drawn
dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought
find found|flee fled|fling flung|fly flew flown|forbid forbade forbidden|forget forgot forgotten
forgive forgave forgiven|forsake forsook forsaken|freeze froze frozen|get got gotten|give gave given|go went gone
grind ground|grow grew grown|hang hung|have had|hear heard|hide hid hidden|hold held|keep kept|kneel knelt
know knew known|lay laid|lead led|leap leapt|learn learnt|leave left|lend lent|light lit|lose lost|make made
mean meant|meet met|overthrow overthrew overthrown|pay paid|prove proved proven|quit quit|ride rode ridden
ring rang rung|rise rose risen|run ran run|say said|see saw seen|seek sought|sell sold|send sent|sew sewed sewn
shake shook shaken|shine shone|shoot shot|show showed shown|shrink shrank shrunk|sing sang sung|sink sank sunk
sit sat|slay slew slain|sleep slept|slide slid|speak spoke spoken|spend spent|spin spun|spring sprang sprung
stand stood|steal stole stolen|stick stuck|sting stung|strike struck struck|swear swore sworn|sweep swept
swell swelled swollen|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told
think thought|throw threw thrown|undergo underwent undergone|understand understood|wake woke woken|wear wore worn
weave wove woven|weep wept|win won|withdraw withdrew withdrawn|write wrote written|rebuild rebuilt
overcome overcame overcome|foresee foresaw foreseen|retake retook retaken|regrow regrew regrown|knit knit
""".replace("\n", "|")
_VERBS = {words[0]: words[1:] for words in map(str.split, _IRREGULAR.split("|")) if words}
# Verb forms that are more often another word, and so have no base.
_NOT_VERBS = frozenset("left wound ground bound spring rose saw bore".split())
_BASES = {form: base for base, forms in _VERBS.items() for form in forms if form not in _NOT_VERBS} | {
    "died": "die", "dies": "die", "dying": "die", "lied": "lie", "lies": "lie", "lying": "lie", "tied": "tie",
    "ties": "tie", "tying": "tie", "wives": "wife", "knives": "knife", "lives": "live", "leaves": "leave",
    "thieves": "thief", "wolves": "wolf", "children": "child", "men": "man", "women": "woman", "feet": "foot",
    "teeth": "tooth", "mice": "mouse", "geese": "goose", "people": "person", "does": "do", "goes": "go",
    "news": "news", "is": "be", "are": "be", "am": "be", "were": "be", "has": "have",
}  # fmt: skip
_ENDINGS = ("ing", "ied", "ies", "ed", "es", "s")
_UNINFLECTED_ENDINGS = ("ss", "us", "is", "thing", "evening", "morning", "wedding", "sibling", "ceiling", "during")
_VOWELS = "aeiou"


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return a word without its inflectional ending, or the base of an irregular form."""
    word = word.removesuffix("'s")
    if word in _BASES:
        return _BASES[word]
    for ending in _ENDINGS:
        root = word.removesuffix(ending)
        if root != word and _may_be_root(root) and not word.endswith(_UNINFLECTED_ENDINGS):
            return _base_form(root, ending)
    return word


def _may_be_root(root: str) -> bool:
    return len(root) >= 2 and any(letter in "aeiouy" for letter in root)


def _base_form(root: str, ending: str) -> str:
    """Restore the base of a word without its ending: "plan" from "plann", "move" from "mov"."""
    words = vocabulary()
    if ending in ("ied", "ies"):
        return f"{root}ie" if f"{root}ie" in words and f"{root}y" not in words else f"{root}y"
    if ending == "s":
        return root
    if ending == "es":
        is_sibilant = root.endswith(("s", "x", "z", "ch", "sh", "o"))
        return root if is_sibilant and f"{root}e" not in words else f"{root}e"
    single = root[:-1] if len(root) > 2 and root[-1] == root[-2] and root[-1] not in "lszeo" else ""
    if single:
        return single
    if root.endswith(("c", "v", "rs", "u")) or (f"{root}e" in words and (root not in words or _is_short(root))):
        return f"{root}e"
    return root[:-1] if root.endswith("ll") and root not in words and root[:-1] in words else root


def _is_short(root: str) -> bool:
    """Return whether a word ends in one vowel and one consonant, which would be doubled before an ending."""
    return len(root) <= 4 and root[-1] not in f"{_VOWELS}wxy" and root[-2] in _VOWELS and root[-3:-2] not in _VOWELS
