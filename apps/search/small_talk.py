"""Recognize queries that are nothing but a greeting, thanks or a yes, and texts that say the same.

They ask for nothing, so that what is similar to them in meaning, or shares one of their words, is unrelated: "good
morning" is near to all that was said of the weather. Without database access.
"""

import re
import unicodedata

_PHRASES = """
    hello/hi/hey/hiya/heya/howdy/yo/greetings/good morning/good afternoon/good evening/good day/good night
    goodnight/welcome back/nice to meet you/how are you/how are you doing/how is it going/what's up/sup
    bye/goodbye/good bye/bye bye/see you/see you later/see you soon/see ya/take care/farewell/sleep well/sweet dreams
    thanks/thank you/thanks a lot/thank you very much/thank you so much/thx/ty/cheers/you're welcome
    yes/yeah/yep/yup/no/nope/ok/okay/sure/alright/all right/wow/oh/ah/hm/hmm/lol/haha/hehe
    hallo/guten morgen/guten tag/guten abend/gute nacht/moin/servus/grüß gott/tschüss/auf wiedersehen/bis bald/danke
    vielen dank/danke schön/bitte/ja/nein/wie geht's/wie geht es dir
    bonjour/salut/bonsoir/bonne nuit/au revoir/merci/merci beaucoup/oui/non/ça va
    hola/buenos días/buenas tardes/buenas noches/adiós/gracias/muchas gracias/sí/qué tal
    ciao/buongiorno/buonasera/buonanotte/arrivederci/grazie/sì
    olá/oi/bom dia/boa tarde/boa noite/tchau/obrigado/obrigada
    привет/здравствуйте/доброе утро/добрый день/добрый вечер/спокойной ночи/пока/спасибо/да/нет
    你好/您好/早上好/早安/晚上好/晚安/再见/谢谢/こんにちは/おはよう/おはようございます/こんばんは/おやすみ/おやすみなさい/ありがとう
    안녕/안녕하세요/좋은 아침/감사합니다/고마워
"""
_ADDRESSED = frozenset("there all everyone everybody folks guys friend friends again dear my to you too and".split())
_WORD = re.compile(r"\w+(?:['’]\w+)*")
PHRASES = frozenset(tuple(phrase.split()) for line in _PHRASES.strip().split("\n") for phrase in line.split("/"))
_LONGEST = max(map(len, PHRASES))


def small_talk_in(query: str) -> tuple[str, ...]:
    """Return the phrases of small talk that a query consists of; nothing if it says anything else."""
    words, found = _words(query), []
    while words:
        phrase = next((words[:length] for length in range(_LONGEST, 0, -1) if tuple(words[:length]) in PHRASES), None)
        if phrase:
            found.append(" ".join(phrase))
        elif words[0] not in _ADDRESSED:
            return ()
        words = words[len(phrase or words[:1]) :]
    return tuple(dict.fromkeys(found))


def says_any(text: str, phrases: tuple[str, ...]) -> bool:
    """Return whether a text contains one of the phrases, as whole words."""
    said = f" {' '.join(_words(text))} "
    return any(f" {phrase} " in said for phrase in phrases)


def _words(text: str) -> list[str]:
    normalized = unicodedata.normalize("NFC", text).casefold().replace("’", "'")
    return _WORD.findall(normalized)
