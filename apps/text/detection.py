"""Tell in which language a text is written, by its script and its function words. Without database access.

This is the one rule: whoever needs the language of a text, as a code of ISO 639-1, asks it here.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping

ENGLISH = "en"
UNKNOWN = ""
MAX_CHARACTERS = 2_000  # at the beginning of a text, which are enough to tell
LEAST_SHARE = 0.5  # of the letters that belong to a script
# Letters that a character of a script without spaces stands for: it is a word where others have names and brands.
LETTERS_OF_CHARACTER = 3
LEAST_KANA = 0.05  # of the letters: the rest of Japanese may look like Chinese

_UNSPACED = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_KANA, _HANGUL = re.compile(r"[\u3041-\u30ff]"), re.compile(r"[\uac00-\ud7a3]")
_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "el": re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "hy": re.compile(r"[\u0530-\u058f]"),
    "ta": re.compile(r"[\u0b80-\u0bff]"),
}
_UKRAINIAN = re.compile(r"[іїєґІЇЄҐ]")
_FUNCTION_WORDS: Mapping[str, str] = {
    ENGLISH: (
        "the a an and of to in is was are were be been it that this for on with as at by from he she they we"
        " you i my your his her our their not but or so if what who when where why how which do does did have"
        " has had will would can could should me him them about there then than out up into just no yes don't"
        " it's i'm any some us its"
    ),
    "de": (
        "der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ich du er"
        " sie es wir ihr mich dich mir dir uns euch ihm ihn ihnen ist war waren bin bist sind wird wurde"
        " werden hat habe haben hatte hast kann soll sollte will was wer wo wie wann warum welche welcher"
        " welches mit von vom zu zum zur auf im in am an für bei nach aus über unter vor doch auch noch schon"
        " mal ja nein mein meine dein deine sein seine wenn dass weil denn so da nur sich eigentlich damals"
    ),
    "fr": (
        "le la les l un une des du de d et ou mais ne pas je tu il elle on nous vous ils elles me te se m t s"
        " j c qu que qui quoi où quand comment pourquoi quel quelle quels est était sont suis es a ai as avait"
        " ont fait dans sur avec pour par sans chez en au aux ce cette ces cet ça mon ma mes ton ta tes son sa"
        " ses notre votre leur y n déjà si plus tout"
    ),
    "es": (
        "el la los las un una unos unas y o pero no de del al a en con por para sin que qué quién cómo cuándo"
        " dónde cuál es era fue son soy eres está estaba estoy yo tú él ella nosotros ellos me te se le les lo"
        " mi mis tu tus su sus nos este esta esto ese esa muy más ya si sí hay ha he había tengo tiene porque"
        " cuando como también"
    ),
    "it": (
        "il lo la i gli le un uno una e ed o ma non di del della dei delle da dal in nel nella con su sul per"
        " tra che chi cosa come quando dove perché quale è era sono sei siamo ha ho hai aveva io tu lui lei"
        " noi voi loro mi ti si ci vi mio mia tuo tua suo sua questo questa quello quella anche più già al"
        " alla se c l"
    ),
    "pt": (
        "o a os as um uma uns umas e ou mas não de do da dos das em no na nos nas com por para pelo pela sem"
        " que quem como quando onde qual é era foi são sou está estava eu tu ele ela nós eles você me te se"
        " lhe meu minha teu tua seu sua este esta isso isto esse essa muito mais já também ao à há tem tinha"
        " porque se"
    ),
    "nl": (
        "de het een en of maar niet geen ik jij je hij zij ze wij we jullie u mij me hem haar ons hen is was"
        " zijn ben bent waren wordt heeft heb hebben had kan zal wil wat wie waar wanneer waarom hoe welke met"
        " van voor naar op in aan bij uit over onder tot te dat die dit deze er ook nog al wel mijn jouw toen"
        " dan als om"
    ),
    "sv": (
        "en ett och eller men inte jag du han hon vi ni de dem mig dig sig oss er är var vara har hade ska"
        " skulle kan vill vad vem var när varför hur vilken med av för till på i om från hos som att det den"
        " detta denna min mitt din ditt hans hennes också så då här där bara"
    ),
    "da": (
        "en et og eller men ikke jeg du han hun vi i de dem mig dig sig os er var være har havde skal skulle"
        " kan vil hvad hvem hvor hvornår hvorfor hvordan hvilken med af for til på om fra hos som at det den"
        " dette denne min mit din dit hans hendes også så da her der kun"
    ),
    "no": (
        "en et ei og eller men ikke jeg du han hun vi dere de dem meg deg seg oss er var være har hadde skal"
        " skulle kan vil hva hvem hvor når hvorfor hvordan hvilken med av for til på i om fra hos som at det"
        " den dette denne min mitt din ditt hans hennes også så da her der bare"
    ),
    "fi": (
        "ja tai mutta ei en et emme minä sinä hän me te he minun sinun hänen on oli ovat olen olet ollut mitä"
        " mikä kuka missä milloin miksi miten joka että kun jos niin myös vain se ne tämä tuo nyt vielä kanssa"
        " minulla"
    ),
    "hu": (
        "a az egy és vagy de nem én te ő mi ti ők van volt vagyok voltam lesz hogy mit ki hol mikor miért"
        " hogyan melyik ez azt ezt is csak már még meg ha akkor nekem neked vele itt ott sem"
    ),
    "ro": (
        "un o și sau dar nu eu tu el ea noi voi ei este e era sunt sunt ești am ai a au ce cine unde când de"
        " ce cum care la în pe cu din pentru că să se mi ți lui mea meu ta tău sa său acest această și mai"
    ),
    "tr": (
        "bir ve veya ama değil ben sen o biz siz onlar bu şu ne kim nerede zaman neden nasıl hangi mi mı mu"
        " mü için ile de da çok daha var yok idi beni seni bana sana benim senin onun gibi kadar sonra önce"
    ),
    "id": (
        "yang dan atau tetapi tidak saya aku kamu dia kami kita mereka ini itu di ke dari untuk dengan pada"
        " adalah ada apa siapa mana kapan mengapa bagaimana sudah akan juga sangat bisa karena"
    ),
    "pl": (
        "ja ty on ona i w na się nie jest mój moja mam z do że jak ale to jestem od po za już tak co kto gdzie kiedy"
        " dlaczego był była dla czy go mnie ten ta"
    ),
}
_ORDER = {language: number for number, language in enumerate(_FUNCTION_WORDS)}
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _each in set(_words.split()):
        _LANGUAGES_OF.setdefault(_each, []).append(_language)
_WORD = re.compile(r"[^\W\d_]+(?:['’](?:t|s|m)\b)?")
_LETTER = re.compile(r"[^\W\d_]")
# What prompts call the languages: in English, as the rest of them is.
ENGLISH_NAMES: Mapping[str, str] = {
    ENGLISH: "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "no": "Norwegian", "fi": "Finnish", "hu": "Hungarian",
    "ro": "Romanian", "tr": "Turkish", "id": "Indonesian", "pl": "Polish", "ru": "Russian", "uk": "Ukrainian",
    "el": "Greek", "ar": "Arabic", "hi": "Hindi", "hy": "Armenian", "ta": "Tamil", "zh": "Chinese",
    "ja": "Japanese", "ko": "Korean",
}  # fmt: skip


def language_of(text: str, default: str = ENGLISH, among: Collection[str] | None = None) -> str:
    """Return the language of a text as its ISO 639-1 code; ``default`` if nothing tells it.

    ``among`` limits the languages to some. Of languages that are as likely, the first of those that most people speak.
    """
    return next(iter(likeliest_languages(text, among)), default)


def likeliest_languages(text: str, among: Collection[str] | None = None) -> list[str]:
    """Return the languages that a text is in with the same likelihood, that of most people first; none if unknown.

    A few words may be of several: "Was geschah letzte Woche?" has "was" alone, a word of English too.
    """
    text = text[:MAX_CHARACTERS].lower().replace("’", "'")
    letters = len(_LETTER.findall(text))
    if letters and (language := _language_of_script(text, letters)) and (among is None or language in among):
        return [language]
    found = Counter(
        language
        for word in _WORD.findall(text)
        for language in _LANGUAGES_OF.get(word, ())
        if among is None or language in among
    )
    most = max(found.values(), default=0)
    return sorted((language for language in found if found[language] == most), key=_ORDER.__getitem__)


def _language_of_script(text: str, letters: int) -> str:
    """Return the language whose script most of the letters belong to, "" if there is none."""
    unspaced = len(_UNSPACED.findall(text))
    if unspaced and LETTERS_OF_CHARACTER * unspaced >= LEAST_SHARE * (letters + (LETTERS_OF_CHARACTER - 1) * unspaced):
        if len(_KANA.findall(text)) >= LEAST_KANA * letters:
            return "ja"
        return "ko" if 2 * len(_HANGUL.findall(text)) > unspaced else "zh"
    for language, script in _SCRIPTS.items():
        if len(script.findall(text)) >= LEAST_SHARE * letters:
            return "uk" if language == "ru" and _UKRAINIAN.search(text) else language
    return UNKNOWN
