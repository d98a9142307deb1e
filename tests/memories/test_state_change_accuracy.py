"""How often the rules are right about pairs of statements that they were not written for."""

from apps.memories.state_change import change_between

CHANGES = """
Priya lives in Leeds. | Priya moved to Bristol after the divorce.
Mira: “I live with my parents in Kent.” | Mira: “I moved into a flat of my own in Dover.”
Old Harlan runs the ferry and is alive and well. | Harlan died in his sleep on Sunday.
The king is dead. | The king is alive; the body was that of a double.
Joel is engaged to Nadia. | Joel and Nadia broke up in June.
Nadia is single. | Nadia married Joel in the spring.
Bea broke her wrist on the ice. | Bea's wrist has healed.
Sam has a fever and stays in bed. | Sam has recovered and is up again.
The crew has twelve sailors. | The crew has nine sailors.
Alice owes Bob 40 crowns. | Alice owes Bob 15 crowns.
The band is called Night Owls. | The band is called Grey Foxes.
The dog's name is Rex. | The dog's name is Bruno.
Tom has the silver key. | Tom gave the silver key to Mira.
Mira owns the blue boat. | Mira sold the blue boat to a trader.
Lena trusts Captain Voss. | Lena does not trust Captain Voss any more.
Oskar likes oysters. | Oskar hates oysters.
Ines works as a nurse. | Ines became a teacher last year.
Paul works at the harbour office. | Paul quit his job at the harbour office.
The meeting is on Tuesday. | The meeting is on Friday.
The gate is locked. | The gate is unlocked.
Mira can swim. | Mira cannot swim.
Ella is 29 years old. | Ella is 30 years old.
Tom's hair is brown. | Tom dyed his hair; it is red.
The map is in the desk drawer. | The map is under the floorboards.
""".strip()

BOTH_HOLD = """
Priya lives in Leeds. | Priya lives in a small house in Leeds.
Joel is married to Nadia. | Nadia is Joel's wife.
Bea broke her wrist on the ice. | Bea's wrist is broken.
Ines works as a nurse. | Ines is a nurse and works nights.
Mira owns the blue boat. | The blue boat belongs to Mira.
Tom likes tea. | Tom likes coffee.
Tom has a sister. | Tom has a brother.
Priya lives in Leeds. | Joel lives in Bristol.
Alice owes Bob 40 crowns. | Alice owes Carl 15 crowns.
Mira visited Paris in 2019. | Mira visited Rome in 2021.
Harlan died in his sleep. | Harlan's wife is alive.
The meeting is on Tuesday. | The party is on Friday.
Tom gave Mira a ring. | Tom gave Anna a book.
Ella is 29 years old. | Ella's brother is 12 years old.
The dog's name is Rex. | The cat's name is Bruno.
Sam hates the sea. | Sam grew up by the sea.
Lena trusts Captain Voss. | Lena is afraid of the storm.
Ines finished the first painting. | Ines finished the second painting.
Paul ran a marathon in May. | Paul ran a marathon in October.
Bea adopted a cat. | Bea adopted a second cat named Plum.
""".strip()
RESTATEMENTS = 5  # of the pairs above, the first


def pairs(table: str) -> list[tuple[str, str]]:
    return [(old.strip(), new.strip()) for old, new in (line.split("|") for line in table.splitlines())]


def test_most_pairs_are_told_rightly() -> None:
    missed = [pair for pair in pairs(CHANGES) if change_between(*pair) is None]
    invented = [pair for pair in pairs(BOTH_HOLD) if change_between(*pair) is not None]
    wrong = len(missed) + len(invented)
    assert 1 - wrong / len(pairs(CHANGES) + pairs(BOTH_HOLD)) >= 0.85, (missed, invented)


def test_no_restatement_is_taken_for_a_change() -> None:
    for old, new in pairs(BOTH_HOLD)[:RESTATEMENTS]:
        assert change_between(old, new) is None, (old, new)
        assert change_between(new, old) is None, (new, old)
