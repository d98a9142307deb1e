"""Pronouns of the first and the second person, by language. Without database access."""

import re

from apps.text.languages import ENGLISH, likeliest_configurations

_FIRST = {
    ENGLISH: "i me my mine myself we us our ours",
    "german": "ich mir mich mein meine meinen meinem meiner meines wir uns unser unsere unseren unserem unserer",
    "french": "je j me m moi mon ma mes mien mienne nous notre nos",
    "spanish": "yo me mi mí mis mío mía conmigo nosotros nosotras nos nuestro nuestra nuestros nuestras",
    "italian": "io mi me mio mia miei mie noi ci nostro nostra nostri nostre",
    "portuguese": "eu me mim meu minha meus minhas comigo nós nosso nossa nossos nossas",
    "dutch": "ik me mij mijn we wij ons onze",
    "russian": (
        "я меня мне мной мой моя моё мое мои моего моей моему моих моим моими мою мы нас нам нами наш наша наше наши"
    ),
}
_SECOND = {
    ENGLISH: "you your yours yourself",
    "german": "du dir dich dein deine deinen deinem deiner deines ihr euch euer eure",
    "french": "tu te t toi ton ta tes tien tienne vous votre vos",
    "spanish": "tú te ti tu tus tuyo tuya contigo usted ustedes vosotros vuestro vuestra",
    "italian": "tu ti te tuo tua tuoi tue voi vi vostro vostra",
    "portuguese": "tu te ti teu tua teus tuas você vocês contigo",
    "dutch": "jij je jou jouw jullie u uw",
    "russian": (
        "ты тебя тебе тобой твой твоя твоё твое твои твоего твоей твоему твоих твоим твою вы вас вам вами ваш"
        " ваша ваше ваши"
    ),
}
# In scripts without spaces, the words of which no other contains them.
_KOREAN = r"(?:는|가|를|도|의|한테|에게)?(?!\w)"
_UNSPACED_FIRST = re.compile(rf"我|私|わたし|僕|ぼく|俺|あたし|ฉัน|ผม|(?<!\w)(?:나|내|저|제|우리){_KOREAN}")
_UNSPACED_SECOND = re.compile(rf"你|您|あなた|คุณ|เธอ|(?<!\w)(?:너|네|당신){_KOREAN}")
_WORD = re.compile(r"[^\W\d_]+")
_NO_PRONOUN = re.compile(r"-t-|\brendez-vous\b")  # "t" and "vous" of French: "a-t-elle"


def persons_in(text: str) -> tuple[bool, bool]:
    """Return whether a text has pronouns of the first person, and of the second."""
    languages = likeliest_configurations(text) or [ENGLISH]
    words = set(_WORD.findall(_NO_PRONOUN.sub(" ", text.lower())))
    first, second = (any(not words.isdisjoint(forms.get(each, ())) for each in languages) for forms in _FORMS)
    return first or bool(_UNSPACED_FIRST.search(text)), second or bool(_UNSPACED_SECOND.search(text))


_FORMS = [{language: frozenset(words.split()) for language, words in each.items()} for each in (_FIRST, _SECOND)]
