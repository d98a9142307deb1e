"""Scenes of the suitability test, and the facts to find in them by tier. Pure.

The scenes and their characters were invented for this test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.extraction.suitability.expectations import Expectation, expected, forbidden

PER_KIND = 4  # requested lines of a kind
MAX_TOKENS = 1600  # of a reply
INVESTIGATION, SECRETS, STATE = "investigation", "secrets", "state"


@dataclass(frozen=True)
class Trial:
    """Question of the test: a task on a scene, and the expectations for the reply.

    ``enough`` is the share of expected facts that gives the full score, since a model has to choose among many.
    """

    task: str
    scene: str
    material: Mapping[str, Any]
    expectations: Sequence[Expectation]
    enough: float = 0.75
    lines: int = 1  # lines of a usable reply at least

    @property
    def wanted(self) -> list[Expectation]:
        """Return the facts that the reply should contain."""
        return [expectation for expectation in self.expectations if expectation.present]

    @property
    def unwanted(self) -> list[Expectation]:
        """Return the facts that the reply must not contain."""
        return [expectation for expectation in self.expectations if not expectation.present]


def turns_of(scene: str, user: str = "") -> list[dict[str, Any]]:
    """Return the turns of a scene, numbered from 1; ``user`` is the speaker whom the user plays."""
    text = (Path(__file__).parent / f"{scene}.txt").read_text(encoding="utf-8")
    speeches = [part.partition(": ") for part in text.strip().split("\n\n")]
    return [
        {"number": number, "speaker": speaker, "is_user": speaker == user, "text": words}
        for number, (speaker, _, words) in enumerate(speeches, 1)
    ]


NAMES = ("Ilka", "Tobias", "Josef Lind", "Mayor Holm")
COPIED = forbidden("It copied the examples of the prompt.", "oswin|pell|harbour master|gull stairs")
GOSSIP = forbidden("It reported the gossip about the baker's wife as a fact.", "josef|lind|keeper", "baker")
BRANDY = forbidden("It reported a wrong guess as a fact: brandy in the crates.", "brandy")
HEDGED = forbidden("It reported guesses (“maybe”, “perhaps”) as memories.", "maybe|perhaps|possibly|might be|seems to")
DEAD = forbidden("It reported that Josef is dead.", "josef|lind", "is dead|was killed|has died|was murdered")
INVENTED = (COPIED, GOSSIP, BRANDY, HEDGED, DEAD)

LONG_TERM = (
    expected("Tobias left the guild in Harn", "tobias|renn", "harn|guild"),
    expected("Ilka is a police inspector", "ilka|brandt", "inspector|police"),
    expected("Ilka is allergic to shellfish", "allerg", "shellfish|prawn"),
    expected("Tobias owes Holm money", "holm", "owe|debt|lent|loan|borrow"),
    expected("Ilka's brother Anton drowned", "anton|brother", "drown|died|dead|death"),
    expected("Ilka doesn't go on boats", "ilka|brandt", "boat|water|the sea|sail"),
    expected("Tobias built the lamp clock for Holm", "gear|clock", "holm"),
    expected("Josef is alive and hides", "josef|lind|keeper", "alive|hid|lives|behind the wall"),
    expected("Holm's men store rifles", "rifle|gun|weapon", "holm|salt house|crate"),
    expected("Tobias no longer works for Holm", "holm", "no longer|stop|quit|anymore|any more|used to work|left"),
    expected("Ilka trusts Tobias", "trust", "tobias|renn|ilka"),
    expected("Tobias is to repair Anton's watch", "watch", "anton|repair|brother|promise"),
)
SESSION = (
    expected("The gear was found on the lighthouse stairs", "gear", "lighthouse|stair|found"),
    expected("Holm lied about the clock", "holm|mayor", "lie|lied|denie|never owned|claim"),
    expected("Ilka cut her hand", "hand|palm", "cut|bleed|wound|injur|scarf|bandag"),
    expected("A page of the logbook is torn out", "page|logbook", "torn|missing|ripped|tore"),
    expected("The Kestrel came without lights", "kestrel", "light|two|dent|night|schooner|holm"),
    expected("Josef was found in the lighthouse", "josef|lind|keeper", "found|hid|alive|behind|wall|cough"),
    expected("There are rifles in the salt house", "rifle", "salt house|crate|holm"),
    expected(
        "Nobody may learn that Josef lives", "josef|lind|alive|hidden", "nobody|secret|no one|proof|word|sergeant"
    ),
    expected("Tobias keeps Holm's key for now", "key", "holm|keep|house"),
    expected("Ilka gave Tobias her brother's watch", "watch", "anton|repair|brother|tobias"),
    expected("They meet at midnight by the north gate", "midnight", "gate|lantern|tomorrow"),
)
ARCS = (
    expected(
        "Holm's rifles, and who buys them", "rifle|smuggl|holm|crate", "who|buy|proof|prove|expos|stop", kinds=("arc",)
    ),
    expected("The plan for the salt house", "salt house|crate|midnight|gate", kinds=("arc",)),
    expected(
        "Josef's hiding until there is proof", "josef|lind|keeper", "hid|safe|secret|alive|protect", kinds=("arc",)
    ),
    expected("Anton's watch, or how he died", "watch|anton", kinds=("arc",)),
    expected("Tobias's debt to Holm", "debt|owe|crowns|loan|believe|pretend|deceiv", kinds=("arc",)),
    expected("Solved: where Josef is", "josef|lind|keeper", kinds=("resolved",)),
    expected("Solved: who made the gear", "gear", kinds=("resolved",)),
    forbidden("It opened an arc that had just been resolved.", "where is josef|whereabouts of josef", kinds=("arc",)),
    forbidden("It reported gossip as an arc.", "baker"),
    COPIED,
)
OPEN = (
    {"number": 1, "text": "Where is Josef Lind, the missing keeper of the lighthouse?"},
    {"number": 2, "text": "Who made the brass gear that was found in the lighthouse?"},
)
SUMMARY = (
    expected("Where it takes place", "lighthouse|cape morrow"),
    expected("The torn page", "page|logbook"),
    expected("Josef is alive", "josef|lind", "alive|hid|found"),
    expected("The rifles", "rifle"),
    expected("The mayor's lie", "holm", "lie|lied|denie|claim|never"),
    expected("Anton's death", "anton", "drown|died|death"),
    expected("Anton's watch", "watch"),
    expected("What is planned", "midnight", kinds=("6", "7", "8", "9")),
    expected("Trust between the two", "trust", kinds=("4",)),
    COPIED,
)
RECAP = (
    expected("Where it takes place", "lighthouse|cape morrow"),
    expected("Whom they found", "josef|lind|keeper"),
    expected("What it is about", "rifle|holm|logbook|kestrel"),
    expected("Who was there", "ilka|brandt", "tobias|renn"),
    COPIED,
)
STANDINGS = (
    expected("Ilka trusts Tobias", "trust|confid", kinds=("now",), who="ilka tobias|brandt tobias"),
    expected("Ilka is no longer suspicious of him", "suspic", kinds=("no longer",), who="ilka tobias|brandt tobias"),
    expected(
        "Tobias stands by Ilka",
        "loyal|trust|respect|protect|devot|admir|commit|sympath|support|honest|help|care|caring|fond|grateful|compassion",
        kinds=("now",),
        who="tobias ilka|tobias renn ilka",
    ),
    expected(
        "Tobias has turned from Holm",
        "resent|distrust|disloyal|indebt|wary|afraid|bitter|hostil|oppos|estrang|defian|fear|suspic|disillus|betray",
        kinds=("now",),
        who="tobias mayor|tobias holm|tobias renn mayor",
    ),
    expected(
        "Ilka distrusts Holm",
        "distrust|suspic|hostil|wary|angry|mistrust|determin|contempt|skeptic|sceptic|adversar",
        kinds=("now",),
        who="ilka mayor|ilka holm",
    ),
    forbidden("It reports that Ilka hates Tobias.", "hostil|hate|hateful|resent", kinds=("now",), who="ilka tobias"),
    COPIED,
)
MEMORIES = (
    "Ilka Brandt is an inspector of the harbour police in Vessen.",
    "Ilka's brother Anton drowned off Cape Morrow nine years ago; she hasn't been on the water since.",
    "Ilka is allergic to shellfish.",
    "Ilka came to arrest Tobias Renn, and now trusts him.",
    "Ilka keeps it secret that Josef Lind is alive.",
)
PROFILE = (
    expected("What Ilka wants", "rifle|holm|proof|buy|smuggl|arrest", kinds=("character_state",)),
    expected("What Ilka fears", "boat|water|the sea|drown|anton", kinds=("character_state",)),
    expected("Where she is", "lighthouse|morrow|vessen", kinds=("world_state",)),
    expected("What is unsettled", "rifle|salt house|holm|crate|josef", kinds=("world_state",)),
    expected("How she stands to Tobias", "tobias", "trust|rel|ally|confid", kinds=("relationship_matrix",)),
    expected("How she stands to Holm", "holm", kinds=("relationship_matrix",)),
    COPIED,
)
CANON = (
    expected("Who she is", "inspector|police"),
    expected("Her brother's death", "anton", "drown|died|death"),
    expected("What she found out", "josef|lind", "alive|hid|lighthouse|found"),
    expected("Whom she trusts", "tobias", "trust"),
    COPIED,
)
SETTLED_ARCS = ("Josef Lind, the missing keeper, was found alive in the lighthouse, where he hides from Holm's men.",)
FACTS = (
    {"number": 1, "text": "Ilka's brother Anton drowned nine years ago."},
    {"number": 2, "text": "Ilka is allergic to shellfish."},
    {"number": 3, "text": "Josef Lind hides in the lighthouse."},
    {"number": 4, "text": "Tobias cut the brass gear for Mayor Holm's lamp clock."},
    {"number": 5, "text": "Ilka and Tobias meet at midnight by the north gate."},
)
REPLY = {
    "number": 31,
    "speaker": "Ilka",
    "is_user": False,
    "text": "*At midnight she is waiting by the north gate, her left hand bandaged, and eats "
    "the last of a bag of prawns with relish.* \"You're late. My brother Anton is alive and well; he sat in my kitchen "
    "all evening, so I couldn't leave sooner.\"",
}
CONTINUITY = (
    expected("Anton is dead", "anton|brother|drown", kinds=("1", "")),
    expected("Ilka can't eat prawns", "prawn|shellfish|allerg", kinds=("2", "")),
    forbidden("It reported that the meeting at the gate is contradicted.", "gate|midnight", kinds=("5",)),
    forbidden("It reported contradictions of facts that the message doesn't mention.", kinds=("3", "4")),
    COPIED,
)

SOLD = "sold|sell|sale|bank|debt|vineyard"
EPISTEMIC = (
    expected("Yusuf learns of the sale", SOLD, kinds=("knows",), who="yusuf"),
    expected("Helene hides it from Marcus", SOLD + "|paper|truth", "from marcus", kinds=("hiding",), who="helene"),
    expected("Yusuf hides it from Marcus", SOLD + "|paper|truth|secret", "from marcus", kinds=("hiding",), who="yusuf"),
    expected("Marcus believes in the insurance", "insurance", kinds=("believes",), who="marcus"),
    expected("Marcus doesn't know of the sale", SOLD, kinds=("unaware",), who="marcus"),
    expected("Dora suspects something", "helene|paper|sign|sell|rid of|secret|hid", kinds=("suspects",), who="dora"),
    expected("Dora hides the broken clock", "clock|glass|shard", kinds=("hiding",), who="dora"),
    expected("The others don't know of the clock", "clock|glass|shard", kinds=("unaware",)),
    expected("Yusuf's ignorance of the debts is over", "1", kinds=("retire",)),
    forbidden("It lets Marcus know of the sale.", "sold|sale|debt", kinds=("knows",), who="marcus"),
    forbidden(
        "It reports the lie about the insurance as a fact.",
        "insurance",
        kinds=("knows",),
        who="marcus",
    ),
    forbidden("It lets Dora know of the sale.", "sold|sale|debt", kinds=("knows",), who="dora"),
    forbidden("It lets Yusuf believe the lie about the insurance.", "insurance", kinds=("believes",), who="yusuf"),
    forbidden(
        "It lets somebody know who broke the clock, though nobody was there.",
        "dora",
        "clock|glass|shard",
        kinds=("knows",),
        who="marcus|helene|yusuf",
    ),
    COPIED,
)
KNOWN = (
    {"number": 1, "kind": "unaware", "subject": "Yusuf", "target": "", "text": "Helene has debts."},
    {"number": 2, "kind": "knows", "subject": "Marcus", "target": "", "text": "Their father has died."},
)

LEDGER = (
    expected("Ilse is in the crypt", "crypt|altar", kinds=("location",), who="ilse"),
    expected("Ilse has an arrow in her shoulder", "arrow|shoulder", kinds=("injuries",), who="ilse"),
    expected("Ilse is dressed as a monk", "monk|habit", kinds=("outfit",), who="ilse"),
    expected("The iron key is Ilse's now", "ilse", "key", kinds=("owner", "carried", "location")),
    expected("The key is damaged", "tooth|broken|damag", kinds=("condition",), who="iron key|key"),
    expected("Ilse has the reliquary", "ilse", "reliquary", kinds=("owner", "carried", "location")),
    expected("The reliquary is dented", "dent", kinds=("condition",), who="silver reliquary|reliquary"),
    expected("Corvin is afraid", "afraid|fright|scared|terrif|fear", kinds=("mood",), who="corvin"),
    expected("Corvin is in the bell tower", "bell|tower", kinds=("location",), who="corvin"),
    expected("The crypt is being flooded", "flood|water|ris", kinds=("hazards",)),
    forbidden("It lists somebody who is not in the scene: Duke Albrecht.", who="duke|albrecht"),
    forbidden("It lists a group that is not in the scene: the Order of the Lamp.", who="order of the lamp"),
    forbidden("It still lists a wound that has healed.", "sprain", kinds=("injuries",), who="ilse"),
    forbidden("It leaves the key with its former owner.", "corvin", kinds=("owner",), who="iron key|key"),
    forbidden("It mixes up who is where.", "bell", kinds=("location",), who="ilse"),
    COPIED,
)
ENTITIES = (
    {
        "name": "Ilse",
        "type": "character",
        "fields": {"location": "inn", "injuries": "sprained ankle", "outfit": "chain mail"},
    },
    {"name": "Corvin", "type": "character", "fields": {}},
    {"name": "Duke Albrecht", "type": "character", "fields": {"location": "the capital"}},
    {"name": "Iron key", "type": "object", "fields": {"owner": "Corvin"}},
    {"name": "Crypt of Saint Orm", "type": "place", "fields": {}},
    {"name": "Order of the Lamp", "type": "faction", "fields": {"objective": "guard the relics"}},
)


def trials() -> list[Trial]:
    """Return all questions, in the order of the stages of a run."""
    story, kitchen, crypt = turns_of(INVESTIGATION, "Tobias"), turns_of(SECRETS), turns_of(STATE, "Corvin")
    people = ["Dora", "Helene", "Marcus", "Yusuf"]
    memories = {"turns": story, "participants": ["Ilka", "Tobias"], "per_kind": PER_KIND, "known": []}
    standing = [{"subject": "Ilka", "target": "Tobias", "descriptors": [{"word": "suspicious", "magnitude": "medium"}]}]
    profile = {"subject": "Ilka", "names": ["Tobias", "Josef Lind", "Mayor Holm"], "memories": list(MEMORIES)}
    canon = {"subject": "Ilka", "arcs": list(SETTLED_ARCS), "memories": list(MEMORIES)}
    return [
        Trial("summary", INVESTIGATION, {"summary": "", "turns": story, "known": []}, SUMMARY),
        Trial("scene_recap", INVESTIGATION, {"turns": story[12:24]}, RECAP),
        Trial(
            "epistemic", SECRETS, {"turns": kitchen, "participants": people, "known": list(KNOWN)}, EPISTEMIC, lines=5
        ),
        Trial("session", INVESTIGATION, memories | {"subject": ""}, (*SESSION, *INVENTED), lines=4),
        Trial("long_term", INVESTIGATION, memories | {"subject": "Ilka"}, (*LONG_TERM, *INVENTED), lines=5),
        Trial(
            "relationships", INVESTIGATION, {"turns": story, "names": list(NAMES), "known": standing}, STANDINGS, 0.6, 2
        ),
        Trial("arcs", INVESTIGATION, {"turns": story, "open": list(OPEN)}, ARCS, lines=3),
        Trial("ledger", STATE, {"turns": crypt, "entities": list(ENTITIES)}, LEDGER, lines=3),
        Trial("profiles", INVESTIGATION, profile | {"turns": story[-10:]}, PROFILE),
        Trial("canon", INVESTIGATION, canon, CANON, enough=1.0),
        Trial("continuity", INVESTIGATION, {"turn": REPLY, "facts": list(FACTS)}, CONTINUITY, enough=1.0, lines=1),
    ]
