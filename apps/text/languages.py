"""Which of the languages that Postgres stems a text is in, told by its letters and function words. Without database.

A short text without any is taken as English, whose stems hardly change words of other languages.
"""

import re
import unicodedata
from collections import Counter

from apps.text.words import UNSPACED

ENGLISH = "english"
MOST_READ = 2000  # characters at the beginning of a text
LEAST_SHARE = 0.5  # of the letters that tell a language alone

# By Unicode blocks that belong to one configuration of Postgres, whose ASCII words are stemmed as English there.
_SCRIPTS = {
    "russian": re.compile(r"[\u0400-\u04ff]"),
    "greek": re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]"),
    "arabic": re.compile(r"[\u0600-\u06ff]"),
    "hindi": re.compile(r"[\u0900-\u097f]"),
    "armenian": re.compile(r"[\u0530-\u058f]"),
    "tamil": re.compile(r"[\u0b80-\u0bff]"),
}
_FUNCTION_WORDS = {
    ENGLISH: (
        "the a an and of to in is was are were be been it that this for on with as at by from he she they we"
        " you i my your his her our their not but or so if what who when where why how which do does did have"
        " has had will would can could should me him them about there then than out up into just no yes don't"
        " it's i'm any some us its"
    ),
    "german": (
        "der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ich du er"
        " sie es wir ihr mich dich mir dir uns euch ihm ihn ihnen ist war waren bin bist sind wird wurde"
        " werden hat habe haben hatte hast kann soll sollte will was wer wo wie wann warum welche welcher"
        " welches mit von vom zu zum zur auf im in am an für bei nach aus über unter vor doch auch noch schon"
        " mal ja nein mein meine dein deine sein seine wenn dass weil denn so da nur sich eigentlich damals"
    ),
    "french": (
        "le la les l un une des du de d et ou mais ne pas je tu il elle on nous vous ils elles me te se m t s"
        " j c qu que qui quoi où quand comment pourquoi quel quelle quels est était sont suis es a ai as avait"
        " ont fait dans sur avec pour par sans chez en au aux ce cette ces cet ça mon ma mes ton ta tes son sa"
        " ses notre votre leur y n déjà si plus tout"
    ),
    "spanish": (
        "el la los las un una unos unas y o pero no de del al a en con por para sin que qué quién cómo cuándo"
        " dónde cuál es era fue son soy eres está estaba estoy yo tú él ella nosotros ellos me te se le les lo"
        " mi mis tu tus su sus nos este esta esto ese esa muy más ya si sí hay ha he había tengo tiene porque"
        " cuando como también"
    ),
    "italian": (
        "il lo la i gli le un uno una e ed o ma non di del della dei delle da dal in nel nella con su sul per"
        " tra che chi cosa come quando dove perché quale è era sono sei siamo ha ho hai aveva io tu lui lei"
        " noi voi loro mi ti si ci vi mio mia tuo tua suo sua questo questa quello quella anche più già al"
        " alla se c l"
    ),
    "portuguese": (
        "o a os as um uma uns umas e ou mas não de do da dos das em no na nos nas com por para pelo pela sem"
        " que quem como quando onde qual é era foi são sou está estava eu tu ele ela nós eles você me te se"
        " lhe meu minha teu tua seu sua este esta isso isto esse essa muito mais já também ao à há tem tinha"
        " porque se"
    ),
    "dutch": (
        "de het een en of maar niet geen ik jij je hij zij ze wij we jullie u mij me hem haar ons hen is was"
        " zijn ben bent waren wordt heeft heb hebben had kan zal wil wat wie waar wanneer waarom hoe welke met"
        " van voor naar op in aan bij uit over onder tot te dat die dit deze er ook nog al wel mijn jouw toen"
        " dan als om"
    ),
    "swedish": (
        "en ett och eller men inte jag du han hon vi ni de dem mig dig sig oss er är var vara har hade ska"
        " skulle kan vill vad vem var när varför hur vilken med av för till på i om från hos som att det den"
        " detta denna min mitt din ditt hans hennes också så då här där bara"
    ),
    "danish": (
        "en et og eller men ikke jeg du han hun vi i de dem mig dig sig os er var være har havde skal skulle"
        " kan vil hvad hvem hvor hvornår hvorfor hvordan hvilken med af for til på om fra hos som at det den"
        " dette denne min mit din dit hans hendes også så da her der kun"
    ),
    "norwegian": (
        "en et ei og eller men ikke jeg du han hun vi dere de dem meg deg seg oss er var være har hadde skal"
        " skulle kan vil hva hvem hvor når hvorfor hvordan hvilken med av for til på i om fra hos som at det"
        " den dette denne min mitt din ditt hans hennes også så da her der bare"
    ),
    "finnish": (
        "ja tai mutta ei en et emme minä sinä hän me te he minun sinun hänen on oli ovat olen olet ollut mitä"
        " mikä kuka missä milloin miksi miten joka että kun jos niin myös vain se ne tämä tuo nyt vielä kanssa"
        " minulla"
    ),
    "hungarian": (
        "a az egy és vagy de nem én te ő mi ti ők van volt vagyok voltam lesz hogy mit ki hol mikor miért"
        " hogyan melyik ez azt ezt is csak már még meg ha akkor nekem neked vele itt ott sem"
    ),
    "romanian": (
        "un o și sau dar nu eu tu el ea noi voi ei este e era sunt sunt ești am ai a au ce cine unde când de"
        " ce cum care la în pe cu din pentru că să se mi ți lui mea meu ta tău sa său acest această și mai"
    ),
    "turkish": (
        "bir ve veya ama değil ben sen o biz siz onlar bu şu ne kim nerede zaman neden nasıl hangi mi mı mu"
        " mü için ile de da çok daha var yok idi beni seni bana sana benim senin onun gibi kadar sonra önce"
    ),
    "indonesian": (
        "yang dan atau tetapi tidak saya aku kamu dia kami kita mereka ini itu di ke dari untuk dengan pada"
        " adalah ada apa siapa mana kapan mengapa bagaimana sudah akan juga sangat bisa karena"
    ),
}
_ORDER = {language: number for number, language in enumerate(_FUNCTION_WORDS)}
_LANGUAGES: dict[str, list[str]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _each in set(_words.split()):
        _LANGUAGES.setdefault(_each, []).append(_language)
_WORD = re.compile(r"[^\W\d_]+(?:['’](?:t|s|m)\b)?")
_LETTER = re.compile(r"[^\W\d_]")


def language_of(text: str) -> str | None:
    """Return the name of the configuration of Postgres for a text; None where nothing tells its language."""
    text = text[:MOST_READ].lower().replace("’", "'")
    letters = len(_LETTER.findall(text))
    for language, script in _SCRIPTS.items():
        if letters and len(script.findall(text)) >= LEAST_SHARE * letters:
            return language
    found = Counter(language for word in _WORD.findall(text) for language in _LANGUAGES.get(word, ()))
    # Of equals the first: English, then those that most people speak.
    return max(found, key=lambda each: (found[each], -_ORDER[each])) if found else None


def script_or_language_of(text: str) -> str:
    """Return the name of a text's language; of a script that Postgres doesn't stem its name, of a few words "other"."""
    letters = "".join(_LETTER.findall(text[:MOST_READ]))
    unspaced = "".join(UNSPACED.findall(letters))
    if 2 * len(unspaced) > len(letters):
        names = Counter(unicodedata.name(letter, "other").split()[0].lower() for letter in unspaced)
        if names.keys() & {"hiragana", "katakana"}:
            return "japanese"
        script = names.most_common(1)[0][0]
        return {"cjk": "chinese", "hangul": "korean"}.get(script, script)
    return language_of(text) or "other"
