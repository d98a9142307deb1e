"""The words that begin a tag, and what models write instead of them. Without database access."""

import unicodedata

MEMORY_WORDS = ("fact", "relationship", "preference", "event", "scene", "revelation", "development", "detail")
KNOWLEDGE_WORDS = ("knows", "suspects", "believes", "unaware", "hiding")
WORDS = (*MEMORY_WORDS, *KNOWLEDGE_WORDS, "state")
# Some models translate the words into the language of the chat: those of the languages that are written most, each in
# the order of WORDS. A line with any other word is unused, and asked for again if most are.
_TRANSLATED = (
    "fakt beziehung vorliebe ereignis szene enthüllung entwicklung detail weiß ahnt glaubt ahnungslos verbirgt zustand",
    "fait relation préférence événement scène révélation développement détail sait soupçonne croit ignore cache état",
    "hecho relación preferencia evento escena revelación desarrollo detalle sabe sospecha cree ignora oculta estado",
    "факт отношение предпочтение событие сцена откровение развитие деталь знает подозревает верит неведает скрывает "
    "состояние",
    "fato relação preferência evento cena revelação desenvolvimento detalhe sabe suspeita acredita ignora "
    "esconde estado",
    "fatto relazione preferenza evento scena rivelazione sviluppo dettaglio sa sospetta crede ignora nasconde stato",
    "사실 관계 선호 사건 장면 폭로 전개 세부 안다 의심한다 믿는다 모른다 숨긴다 상태",
    "事实 关系 偏好 事件 场景 揭示 发展 细节 知道 怀疑 相信 不知道 隐瞒 状态",
    "事実 関係 好み 出来事 場面 発覚 進展 詳細 知る 疑う 信じる 知らない 隠す 状態",
)
_WORD_OF = {
    **{one.casefold(): word for language in _TRANSLATED for word, one in zip(WORDS, language.split(), strict=True)},
    **{f"{word}s": word for word in WORDS},
    **{word.removesuffix("s"): word for word in ("knows", "suspects", "believes")},
    **{word: word for word in WORDS},
}
_MARKS = " \t*_`~#\"'"
# How a reply that has nothing to report begins, or in languages without spaces what it has, if it isn't NONE.
_NOTHING_NEW = {
    "nothing", "no new", "no further", "nichts", "keine", "rien", "aucun", "aucune", "nada", "ningún", "ninguna",
    "sin", "niente", "nessun", "nessuna", "nenhum", "nenhuma", "нет", "ничего", "n/a",
}  # fmt: skip
_NOTHING_IN = ("没有", "无", "無", "なし", "ありません", "없")
MAX_NOTHING_WORDS, MAX_NOTHING_CHARS = 5, 16


def label_of(word: str) -> str | None:
    """Return the word of a tag that a model means by ``word``, whatever its case, number, width or language."""
    return _WORD_OF.get(unicodedata.normalize("NFKC", word).strip(_MARKS).casefold())


def means_none(text: str) -> bool:
    """Return whether a text only says in a few words that nothing is new."""
    text = unicodedata.normalize("NFKC", text).strip(f"{_MARKS}.。!()[]-–—\n").casefold()
    words = text.split()
    if (
        len(words) <= 1
        and not text.isascii()
        and len(text) <= MAX_NOTHING_CHARS
        and any(one in text for one in _NOTHING_IN)
    ):
        return True
    is_short = len(words) <= MAX_NOTHING_WORDS and not any(mark in text for mark in ",;:[]{}|\n")
    return is_short and bool({" ".join(words[:1]), " ".join(words[:2])} & _NOTHING_NEW)
