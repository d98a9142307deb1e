"""What replaces what: changes of state are found, with and without words that announce them; what may hold together
is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memories.claims import claims
from apps.memories.state_change import change_between

CHANGES = """
Mira lives in Paris.|Mira moved to Lyon last week.
I live in Paris.|I moved to Berlin in March.
John: “I live in Paris with my brother.”|John: “I've moved to Lyon.”
John: “I live in Paris.”|John: “We just moved into a bigger house in Oslo.”
Anna works as a nurse at the hospital.|Anna quit her job at the hospital.
Anna works as a nurse at the hospital.|Anna got a new job as a teacher.
Tom is a teacher.|Tom became a pilot.
Tom is a teacher.|Tom lost his job at the school.
Tom works for the Company.|Tom was fired on Monday.
Anna is engaged to Tom.|Anna married Tom in June.
Anna is married to Tom.|Anna and Tom are divorced.
Anna is single.|Anna is dating Ben.
Anna is dating Ben.|Anna broke up with Ben.
Tom is alive.|Tom died last night.
Tom has a dog called Rex.|Tom gave Rex away.
Mira has a deep wound in her shoulder.|The wound in Mira's shoulder has healed.
Mira broke her arm.|Mira took off the cast, her arm is fine again.
Mira: “I have a fever.”|Mira: “I'm healthy again, the fever is gone.”
Mira is sick with the flu.|Mira has recovered from the flu.
Tom limps since the fall.|Tom walks without a limp now.
Mira is allergic to nuts.|Mira is not allergic to nuts after all.
Mira has two sisters.|Mira has three sisters, it turned out.
Mira is 29 years old.|Mira turned 30 yesterday.
Mira: “I'm 29.”|Mira: “I'm 30 now.”
The meeting is on Monday.|The meeting was moved to Thursday.
The wedding is on June 3.|The wedding was cancelled.
The key is under the stone.|Tom moved the key to the drawer.
The key is under the blue stone.|The key is in Tom's pocket now.
Tom has the silver key.|Tom gave the silver key to Mira.
Tom owns the boat.|Tom sold the boat to Carl.
Bob owns the blue boat.|Carl owns the blue boat.
The sword belongs to Mira.|The sword was stolen from Mira.
Mira lost her ring.|Mira found her ring in the garden.
Mira trusts Tom.|Mira no longer trusts Tom.
Mira trusts Tom.|Tom betrayed Mira to the guards.
Mira and Tom are friends.|Mira and Tom are enemies now.
Mira hates Tom.|Mira has fallen in love with Tom.
Mira hates Tom.|Mira forgave Tom.
Mira likes coffee.|Mira stopped drinking coffee.
Mira: “I love coffee.”|Mira: “I can't stand coffee anymore.”
Mira smokes.|Mira gave up smoking.
Mira is a vegetarian.|Mira eats meat again.
Mira is vegetarian.|Mira: “I eat meat now.”
Mira's favourite colour is blue.|Mira's favourite colour is green now.
Mira's brother is called Tom.|Mira's brother is called Ben.
His name is Anselm.|His real name is Lucan.
Anselm is a monk.|Anselm admitted that he was never a monk.
Brother Anselm is a monk of the order.|Anselm is not a monk; he is the Company's surveyor.
Tom: “I was at home all night.”|Tom: “I lied. I was not at home that night.”
Tom said that his brother died in the war.|Tom's brother is alive, he lied about the war.
The bridge is destroyed.|The bridge has been rebuilt.
The door is locked.|The door stands open.
The gate is open.|The gate was closed.
Tom is in prison.|Tom escaped from prison.
Tom is in prison.|Tom was released.
Mira is pregnant.|Mira gave birth to a girl.
Sara owes Tom ten crowns.|Sara paid Tom back.
Mira is learning French.|Mira has stopped learning French.
Mira studies law in Leeds.|Mira dropped out of law school.
Mira studies law.|Mira graduated from law school.
Mira wants to become a doctor.|Mira no longer wants to become a doctor.
Mira is the captain of the ship.|Tom is the captain of the ship now.
Mira is captain of the guard.|Mira was promoted to general.
Mira is afraid of dogs.|Mira isn't afraid of dogs anymore.
Mira has long red hair.|Mira cut her hair short.
Mira has a car.|Mira sold her car.
Maria: “I donated my old car to a homeless shelter.”|Maria: “I bought a new car.”
Mira runs a bakery.|Mira closed the bakery.
Mira's phone number is 555-1234.|Mira's phone number is 555-9876.
The password is swordfish.|The password was changed to marlin.
The city is at war.|Peace was signed in the city.
Mira is a member of the guild.|Mira left the guild.
Mira plans to travel to Rome in May.|Mira postponed the trip to Rome until September.
Mira: “I'm not married.”|Mira: “I got married last weekend!”
Lena: “We still live in Hamburg.”|Lena: “We finally moved to Munich, the flat is tiny.”
Kael serves as a guard at the north gate.|Kael deserted the guard.
Kael and Lena are engaged.|Kael: “Lena and I broke up.”
Lena: “I have a boyfriend.”|Lena: “I'm single again.”
Lena: “I weigh 80 kilos.”|Lena: “I weigh 72 kilos now.”
Lena's team has eleven players.|Lena's team has nine players.
Lena: “I can't swim.”|Lena: “I learned to swim.”
Kael fears the dark.|Kael no longer fears the dark.
The inn is run by Otto.|Otto sold the inn to Greta.
Kael owes the thieves' guild 200 gold.|Kael paid his debt to the thieves' guild.
Lena drives an old Volvo.|Lena sold the Volvo.
Kael never met his father.|Kael met his father at last.
Lena: “My exam is on Tuesday.”|Lena: “My exam got moved to Friday.”
Kael: “I'm twenty-two.”|Kael: “I turned twenty-three.”
Kael wears a beard.|Kael shaved off his beard.
Lena is vegan.|Lena started eating cheese and eggs again.
Kael's horse is called Storm.|Kael's horse is called Ember.
Lena: “My boss is Mr. Kraft.”|Lena: “My new boss is Ms. Alvarez.”
"""

BOTH_HOLD = """
Mira lives in Paris.|Mira lives in Paris with her cat.
Mira lives in Paris.|Tom moved to Lyon.
Mira lives in Paris.|Mira's brother lives in Lyon.
John: “I live in Paris.”|Maria: “I moved to Lyon.”
Mira lives in Paris.|Mira visited Lyon in May.
Mira lives in Paris.|Mira loves the museums of Paris.
Tom works as a baker.|Tom plays the violin.
Tom works as a baker.|Ben works as a sailor.
Mira likes tea.|Mira likes coffee in the morning.
Mira likes tea.|Tom does not like tea.
Mira: “I love tea.”|Tom: “I hate tea.”
Tom has a brown dog.|Tom has a sister in Leeds.
Tom has two dogs.|Tom has three cats.
Mira broke her left arm.|Tom's arm has healed.
Mira broke her arm.|The cut on Mira's foot has healed.
Mira visited Rome.|Mira ate pasta in Rome.
Mira met Tom at the market.|Mira met Ben at the harbour.
Mira's favourite colour is blue.|Mira's favourite book is Emma.
The door of the tower is locked.|The window of the tower is open.
Mira trusts Tom.|Mira does not trust Ben.
John: “I like to look at the sunset.”|John: “I never give up.”
Mira is tall.|Mira is funny.
Mira is a doctor.|Mira is a mother of two.
Mira has a cat.|Mira has a bicycle.
Mira bought a red dress.|Mira bought a blue hat.
Tom's father died in the war.|Tom survived the war.
Tom's father died.|Tom's mother is alive.
Mira gave Tom a book.|Mira gave Ben a knife.
Mira is at the market.|Mira has a stall at the market.
Mira is engaged to Tom.|Ben is married to Anna.
Anna married Tom in June.|Anna and Tom spent their honeymoon in Rome.
Mira is afraid of dogs.|Mira isn't afraid of the dark.
The meeting is on Monday.|The concert is on Thursday.
Mira won the race in 2019.|Mira won the chess cup in 2021.
John: “My kids have so much.”|John: “My kids don't like the rain.”
Maria: “I volunteer at the homeless shelter.”|Maria: “I don't have much time for movies.”
Ione had a cut across her left palm.|Corin drowned six years ago.
The tower has ten floors.|The tower is guarded by twelve men.
Mira lost her ring.|Mira found a coin in the garden.
Tom promised to come back by winter.|Tom kept the fire going all night.
Maria: “I made some peach cobbler recently.”|Maria: “I took it at the beach last month.”
Emlyn had been afraid of dogs.|Ione is afraid of deep water.
Mira was born in 1990.|Mira has lived in Oslo since 2015.
Mira works at the bank.|Mira works at the bank on the corner.
Ione paid Maëlle Quist the forty crowns.|Maëlle Quist moved to Candle Street with forty crowns.
Mira studied law in Leeds.|Mira's sister studies law in York.
Mira and Tom are friends.|Mira and Ben are enemies.
John: “I had a little doll like this and it always made me feel better.”|John: “I've been feeling a bit stressed out.”
Tom found the map in the cellar.|Tom lost his hat in the cellar.
Mira grew up in Lisbon.|Mira lives in Oslo.
Lena: “We live in Hamburg.”|Lena: “We spent the weekend in Munich.”
Kael serves as a guard at the north gate.|Lena serves as a cook in the castle.
Lena: “I have a boyfriend.”|Lena: “I have an exam on Friday.”
Kael gave the amulet to Lena.|Lena gave the horse to Kael.
Kael is blind in one eye.|Kael has a scar on his chin.
Lena: “My grandma passed away on Sunday.”|Lena: “My brother is alive and well.”
Lena: “I ran 10 kilometres on Sunday.”|Lena: “I ran 12 kilometres on Saturday.”
The village is under siege.|The harbour is open.
Lena plays guitar in a band.|Lena plays chess on Sundays.
John: “I love pizza.”|John: “I don't love the weather here.”
John: “I joined a yoga class.”|John: “I joined a book club.”
John: “I'm passionate about education.”|John: “I'm excited about the campaign.”
Maria: “I met David at the charity event.”|Maria: “I met Jean at the shelter.”
John: “My daughter loves the park.”|John: “My son hates the rain.”
Kael found a map in the tower.|Kael lost his way in the tower.
Kael: “My sister Mara lives in the capital.”|Kael: “I live in the mountains.”
John: “We made pizza together.”|John: “We watched a movie together.”
The tavern is called the Red Lion.|The ship is called the Mermaid.
Kael killed the wolf.|The wolf pack killed two sheep.
Lena: “I bought a new laptop.”|Lena: “I sold my bike.”
Maria: “I've been volunteering at a homeless shelter.”|Maria: “I made dinner for the folks at the shelter.”
John: “I'm off to do some taekwondo.”|John: “I'm doing kickboxing.”
Lena went to Rome with Kael.|Lena went to the market with Mara.
Kael's sword is made of silver.|Kael's shield is made of oak.
Maria: “My aunt used to help my family.”|Maria: “My mother was a nurse.”
Kael trusts Lena with his life.|Kael told Lena the secret of the tower.
"""


def pairs(lines: str) -> list[list[str]]:
    return [line.split("|") for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("old", "new"), pairs(CHANGES))
def test_the_newer_replaces_the_older(old: str, new: str) -> None:
    assert change_between(old, new) is not None


@pytest.mark.parametrize(("old", "new"), pairs(BOTH_HOLD))
def test_both_may_hold(old: str, new: str) -> None:
    assert change_between(old, new) is None


@pytest.mark.parametrize("line", sorted({text for pair in pairs(CHANGES + BOTH_HOLD) for text in pair}))
def test_nothing_replaces_itself(line: str) -> None:
    assert change_between(line, line) is None


def test_a_person_who_speaks_is_the_one_who_is_spoken_of() -> None:
    assert change_between("Mira lives in Paris.", "Mira: “I moved to Lyon.”")
    assert change_between("Mira: “I live in Paris.”", "So Mira moved to Lyon.")
    assert change_between("Tom: “Mira lives in Paris.”", "Mira: “I moved to Lyon.”")
    assert change_between("Mira: “I live in Paris.”", "Mira: “She moved to Lyon.”") is None


def test_the_reason_names_the_rule() -> None:
    reasons = {
        ("Mira lives in Paris.", "Mira moved to Lyon."): "home",
        ("Mira has two sisters.", "Mira has three sisters."): "count",
        ("Mira likes tea.", "Mira does not like tea."): "taste",
        ("Mira is a member of the guild.", "Mira left the guild."): "over",
        ("Mira sings well.", "Mira never sings well."): "negation",
    }
    for (old, new), reason in reasons.items():
        assert getattr(change_between(old, new), "reason", None) == reason


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_makes_it_raise(old: str, new: str) -> None:
    change_between(old, new)
    claims(old)


@given(
    st.lists(
        st.sampled_from("Mira Tom moved lives in to Paris is not has the her , . : “ ” gave 3 May".split()), max_size=40
    )
)
def test_no_order_of_its_own_words_makes_it_raise(words: list[str]) -> None:
    text = " ".join(words)
    assert change_between(text, text) is None
