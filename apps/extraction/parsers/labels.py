"""The words that begin a tag, and how models that translate them write them. Without database access."""

import unicodedata

MEMORY_WORDS = ("fact", "relationship", "preference", "event", "scene", "revelation", "development", "detail")
KNOWLEDGE_WORDS = ("knows", "suspects", "believes", "unaware", "hiding")
_OTHERS = "arc resolved state feels break retire merge contradiction pair".split()
# By the word that is asked for: in German, French, Spanish, Italian, Portuguese, Russian, Chinese, Japanese, Korean.
# A model that writes another one is asked again, as for any line that can't be read.
_TRANSLATIONS = {
    "fact": "fakt fakten tatsache fait hecho fatto fato факт 事实 事實 事実 사실",
    "relationship": "beziehung relation relación relazione relação отношение отношения 关系 關係 관계",
    "preference": "vorliebe präferenz préférence preferencia preferenza preferência предпочтение 偏好 喜好 好み 선호",
    "event": "ereignis événement evento событие 事件 出来事 イベント 사건",
    "scene": "szene scène escena scena cena сцена 场景 場景 場面 シーン 장면",
    "revelation": "enthüllung révélation revelación rivelazione revelação откровение 揭示 启示 発覚 폭로",
    "development": "entwicklung développement desarrollo sviluppo desenvolvimento развитие 发展 發展 進展 발전",
    "detail": "einzelheit détail detalle dettaglio detalhe деталь 细节 細節 詳細 세부",
    "knows": "weiß sait sabe sa знает 知道 知る 안다",
    "suspects": "vermutet soupçonne sospecha sospetta suspeita подозревает 怀疑 懷疑 疑う 의심",
    "believes": "glaubt croit cree crede acredita верит 相信 信じる 믿는다",
    "unaware": "ahnungslos ignore ignora не-знает 不知道 不知 知らない 모른다",
    "hiding": "verbirgt cache oculta nasconde esconde скрывает 隐瞒 隱瞞 隠す 숨긴다",
    "state": "zustand état estado stato состояние 状态 狀態 状態 상태",
    "arc": "handlungsbogen arco сюжет 情节线 伏線",
    "resolved": "gelöst résolu resuelto risolto resolvido решено 已解决 已解決 解決 해결",
    "none": "nichts keine keines rien aucun aucune nada ninguno ninguna niente nessuno nenhum нет ничего 无 無 没有 なし 없음",
}
_WORD_OF = {one: word for word, listed in _TRANSLATIONS.items() for one in listed.split()}
LABELS = frozenset({*MEMORY_WORDS, *KNOWLEDGE_WORDS, *_OTHERS})
_VARIANTS = {f"{word}s": word for word in LABELS} | {"know": "knows", "suspect": "suspects", "believe": "believes"}


def label_of(word: str) -> str | None:
    """Return the word of a tag that a model means by ``word``, whatever its case, number, width or language."""
    word = unicodedata.normalize("NFKC", word).strip(" \t*_`~#\"'").casefold()
    word = _VARIANTS.get(word, _WORD_OF.get(word, word))
    return word if word in LABELS else None


def means_none(text: str) -> bool:
    """Return whether a text only says "none", in one of the languages."""
    return _WORD_OF.get(text.strip(" \t\n*_`~.。!()[]-–—").casefold()) == "none"
