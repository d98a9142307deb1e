"""Whether words name a place large enough that getting there is a change of scene. Pure."""

import re
from collections.abc import Collection

_LARGE = frozenset(
    """town city village hamlet inn tavern castle palace fortress fort keep forest woods wood jungle harbour harbor
    docks dock port quay pier marina market marketplace bazaar square beach shore coast seaside mountain
    mountains hills cave
    caves cavern temple ford heath dunes estuary waterfront church chapel cathedral monastery abbey convent shrine
    mosque synagogue school schoolyard
    university college academy campus library station airport spaceport terminal hospital clinic infirmary hospice
    office
    offices headquarters apartment flat condo house home cottage cabin hut farm farmhouse barn ranch mansion manor
    estate villa hotel motel hostel lodge café cafe diner restaurant bar pub club nightclub bakery shop store boutique
    mall supermarket grocery pharmacy park zoo museum gallery theatre theater cinema opera stadium arena gym river lake
    island bridge border camp campsite encampment outpost base bunker tower lighthouse dungeon ruins ruin mine mines
    ship boat yacht wreck court courthouse prison jail warehouse factory mill workshop forge smithy cemetery graveyard
    crypt tomb tunnel tunnels capital kingdom realm province planet moon asteroid colony valley canyon gorge desert
    oasis plains swamp
    marsh summit peak crossroads clearing glade stables guild guildhall dorm dormitory vineyard orchard studio garage
    precinct morgue casino embassy parliament ballroom courtyard arboretum farmstead settlement waterfall spring
    springs spa resort boardwalk fairground building fair festival carnival playground schoolhouse hideout safehouse
    lair den
    refuge sanctuary hall plaza downtown suburbs countryside highlands wilderness tundra glacier bay cove lagoon delta
    ferry depot junction checkpoint hangar shipyard laboratory lab observatory penthouse motorway moor
    battlefield catacombs sewers underground rooftop aquarium bookshop bookstore barracks townhouse alehouse
    brewery winery temple pass ridge meadow reservoir ranger venue reception citadel stronghold necropolis vault
    neighbourhood neighborhood district quarter slums outskirts hometown homeland""".split()
)
# Their place is that of what they are a part of: the gates of the city, the edge of the table.
_PARTS = frozenset(
    """edge edges outskirts foot top bottom mouth heart centre center middle end entrance gate gates walls banks bank
    shores shore side steps threshold ruins depths parking coast city town village kingdom land port island isle hills
    back front rear grounds halls streets rim crest far doors""".split()
)
_ROOMS = frozenset(
    (
        "emergency room",
        "waiting room",
        "throne room",
        "control room",
        "engine room",
        "courtroom",
        "war room",
        "common room",
    )
)
# Rooms and spots: one walks into them within a scene; only what a message opens on is told by them.
_SMALL = frozenset(
    """kitchen cellar basement attic loft bedroom bathroom bath parlour parlor sacristy nave chancel vestry library
    study
    lounge classroom auditorium boardroom cafeteria canteen refectory nursery pantry laundry greenhouse conservatory
    veranda porch terrace balcony garden yard pier locker ward wing deck cabin cockpit bridge hold galley mess foyer
    lobby armoury armory smithy treasury stable paddock barn pool sauna dressing backstage stage platform stall
    queue alley lane avenue boulevard highway road trail path track riverbank lakeside clifftop hillside hilltop
    roof cliff cliffs tent pavilion marquee stair staircase landing campfire bonfire field fields grove hollow
    ditch trench wall walls rampart ramparts battlements chamber chambers quarters cell cells car van bus train
    tram plane taxi cab carriage sleigh wagon caravan truck bay foodcourt space orbit hyperspace void gymnasium pitch
    rink slope slopes runway kerb curb drive driveway lawn pavement sidewalk""".split()
)
# These may be a few steps away.
NEAR = frozenset("bar hall court gate gates steps studio office den vault plaza dock shore river pool".split())
_ARTICLE = frozenset("the a an his her their our my your its this that another some one".split())
_STOP = re.compile(
    r"[.,;:!?…❝()—–]| (?:and|but|then|while|when|where|as|with|without|before|after|until|to|for|from|in|on|at|by|"
    r"again|together|alone|once|just|only|under|over|through|beneath|behind|beside|amid|because|so|who|which|that|"
    r"is|was|are|were|has|had|looking|feeling|carrying|still|almost|nearly|late|early|around|past|near|outside|inside) "
)
_WORD = re.compile(r"[^\W\d_][\w'-]*")


def setting_at(text: str, people: Collection[str]) -> str:
    """The place or the room that ``text`` begins with, one or many: "hospitals", "the farmhouse kitchen"."""
    phrase = text.lstrip()[:80] + " "
    stop = _STOP.search(phrase)
    for part in (phrase[: stop.start()] if stop else phrase).split(" of ")[:2]:
        words = _WORD.findall(part)
        last = words[-1].lower() if words else ""
        if last in _SMALL or last in _LARGE or (len(words) == 1 and last.removesuffix("s") in _LARGE):
            return last
    return place_at(text, people)


def place_at(text: str, people: Collection[str]) -> str:
    """The place that ``text`` begins with ("the old mill by the river": "mill"); empty where it begins with none."""
    phrase = text.lstrip()[:80] + " "
    stop = _STOP.search(phrase)
    before, _, whole = (phrase[: stop.start()] if stop else phrase).partition(" of ")
    last = (_WORD.findall(before) or [""])[-1].lower()
    if whole and last in _PARTS:
        return place_at(whole, people)
    if whole and last not in _LARGE and not (place_at(whole, ()) and last[:1].isupper()):
        return ""
    return _head(before, people)


def _head(phrase: str, people: Collection[str]) -> str:
    words = _WORD.findall(phrase)[:7]
    if not words:
        return ""
    last = words[-1]
    if last.lower() in _LARGE:
        return last.lower()
    if " ".join(words[-2:]).lower() in _ROOMS:
        return " ".join(words[-2:]).lower()
    owner = next((word for word in words if word.endswith(("'s", "s'"))), None)
    if owner:
        return _owned(words, owner)
    return _named(words, people)


def _owned(words: list[str], owner: str) -> str:
    """A place named for its owner: "Anna's", "Anna's place"."""
    rest = words[words.index(owner) + 1 :]
    if not rest:
        return owner.lower() if owner[0].isupper() else ""
    return rest[-1].lower() if rest[-1].lower() in _LARGE | {"place"} else ""


def _named(words: list[str], people: Collection[str]) -> str:
    """A name that is nobody's: "Paris", "the Rusty Anchor", "Port Salt"."""
    article = words[0].lower() in _ARTICLE
    name = [word for word in words[1 if article else 0 :] if word[0].isupper()]
    if not name or name != words[-len(name) :] or name[0].lower() in {"i", "i'm"}:
        return ""
    known = {part.casefold() for person in people for part in person.split()}
    return "" if any(word.casefold() in known for word in name) else " ".join(name)
