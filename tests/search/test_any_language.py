"""Words, names, codes and dates are found as they are written, in any script."""

import importlib

import pytest
from django.db import connection

from apps.common import jobs
from apps.extraction.jobs import index_jobs
from apps.extraction.models import IndexJob
from apps.memories.models import Memory, Passage
from apps.search.excerpts import best_sentence
from apps.search.indexing import index_messages
from apps.search.presets import PRESETS
from apps.search.questions import Speaker, parse_query, subjects_of
from apps.search.service import SearchQuery, find
from apps.text.languages import configuration_of
from apps.text.lexemes import Lexemes
from apps.text.sentences import sentences_in
from apps.text.words import folded, word_count, words_of
from tests.durations import takes_at_most
from tests.factories import UserFactory, make_chat, make_memory
from tests.lanes import sampled

# What is said by the way in each language, and what is looked for, with queries.
SAID = {
    "Chinese": (
        ["裁缝看着灯笼，没有说话。", "船夫走过石阶，雨停了。"],
        {"司马青把玉佩埋在梨树下面。": ["司马青", "玉佩", "玉佩埋在哪里？", "梨"]},
    ),
    "Japanese": (
        ["兄は港で船を直していた。", "雨の夜、駅で本を読んだ。"],
        {
            "カワウソ堂の抹茶ロールは火曜日だけ。": ["カワウソ堂", "抹茶ロール", "抹茶ロールはいつ売っているの？"],
            "ヴァレンティナは青い封筒を隠した。": ["ｳﾞｧﾚﾝﾃｨﾅ", "ヴァレンティナの封筒"],
            "昨日みつばが風邪をひいたらしい。": ["みつば", "みつばって元気？"],
        },
    ),
    "Korean": (
        ["형은 항구에서 배를 고쳤다.", "비 오는 밤에 책을 읽었다."],
        {
            "하람이는 땅콩을 먹으면 안 된다.": ["하람", "땅콩", "땅콩은 누가 못 먹어?"],
            "서낭당고개에서 하얀여우를 봤다고 한다.": ["하얀 여우", "서낭당 고개", "하얀여우가"],
        },
    ),
    "Thai": (
        ["พี่ชายซ่อมเรือที่ท่าเรือ", "ฝนตกทั้งคืน"],
        {
            "มะลิแพ้ถั่วลิสงตั้งแต่เด็ก": ["มะลิ", "ถั่วลิสง"],
            "พิมพ์ชนกซ่อนกุญแจทองไว้ใต้ต้นมะขาม": ["พิมพ์ชนก", "กุญแจทอง", "พิมพ์ชนกซ่อนกุญแจไว้ที่ไหน"],
        },
    ),
    "Khmer": (["បងប្រុសជួសជុលទូក", "ភ្លៀងពេញមួយយប់"], {"សុភាចូលចិត្តផ្កាម្លិះ": ["សុភា", "ផ្កាម្លិះ"]}),
    "Russian": (
        ["Брат чинил лодку у причала.", "Всю ночь шёл дождь."],
        {"Ещё Фёкла держит чёрных кур в сарае.": ["Фекла", "черные куры", "Где у Фёклы чёрная курица?"]},
    ),
    "German": (
        ["Mein Bruder hat das Boot repariert.", "Es hat die ganze Nacht geregnet."],
        {"Die Schlüssel hängen in der Großen Straße bei Jürgen.": ["Strasse", "Juergen", "Schlüssels", "JURGEN"]},
    ),
    "French": (
        ["Mon frère a réparé le bateau.", "Il a plu toute la nuit."],
        {"L'abbaye de Créac'h est fermée l'hiver.": ["creac'h", "abbayes", "Quand l’abbaye est-elle fermée ?"]},
    ),
    "codes": (
        ["The server runs well.", "We looked at the number again."],
        {
            "The decision is in ADR-0042, by the platform people.": ["ADR-0042", "adr 0042", "0042"],
            "Ring the roofer at 0171 5550123.": ["01715550123", "0171 5550123", "5550123"],
            "The parser is in C++, and getOwnerById is never used.": ["C++", "get owner by id", "getOwnerById"],
            "The bill says 2,480.00 for the e-bike.": ["2480", "2,480.00", "ebike", "e-bike"],
            "Ｆｕｌｌ width, café": ["full", "CAFE"],
        },
    ),
    "dates": (
        ["The concert was on 2026-03-16.", "It is open from 3 to 15 people."],
        {
            "We painted the kitchen on 2026-03-15.": [
                "15.03.2026",
                "3/15/2026",
                "2026年3月15日",
                "on 2026/3/15",
                "am 15. März",
                "March 15th",
            ],
            "Unser Termin ist am 7.11.2025.": ["2025-11-07", "11月7日"],
        },
    ),
}
CASES = [
    (name, text, query) for name, (_, found) in SAID.items() for text, queries in found.items() for query in queries
]


@pytest.fixture(scope="module")
def rows(django_db_setup, django_db_blocker):
    """Memories of all languages, one user's."""
    with django_db_blocker.unblock():
        chat = make_chat(UserFactory())
        for others, found in SAID.values():
            for text in [*others, *found]:
                make_memory(chat, text, lexemes=Lexemes(text))
        yield chat
        chat.owner.delete()


def texts_of(owner_id, query):
    hits = find(owner_id, SearchQuery(query, preset="bm25", tiers=tuple(Memory.Tier.values))).hits
    texts = Memory.objects.for_owner(owner_id).in_bulk([hit.id for hit in hits])
    return [texts[hit.id].text for hit in hits]


@pytest.mark.parametrize(("language", "text", "query"), sampled(CASES, 16))
def test_what_stands_literally_comes_first(rows, db, language, text, query):
    assert texts_of(rows.owner_id, query)[:1] == [text]


def test_a_text_that_was_indexed_otherwise_is_found_after_the_migration(db):
    chat = make_chat(UserFactory())
    memory = make_memory(chat, "司马青把玉佩埋在梨树下面。")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memories_memory SET lexemes = to_tsvector('english', text)")
    assert not texts_of(chat.owner_id, "玉佩")
    migration = importlib.import_module("apps.memories.migrations.0013_words_of_any_script")
    with connection.schema_editor() as editor:
        migration.write_lexemes(None, editor)
    assert texts_of(chat.owner_id, "玉佩") == [memory.text]


def test_messages_that_were_indexed_otherwise_are_indexed_again_in_the_background(db):
    chat = make_chat(UserFactory(), "Hello.")
    index_messages(chat.owner_id, chat)
    Passage.objects.for_owner(chat.owner_id).update(fingerprint="of another format", lexemes=None)
    migration = importlib.import_module("apps.extraction.migrations.0003_index_again")
    with connection.cursor() as cursor:
        cursor.execute(migration.QUEUE)
        cursor.execute(migration.QUEUE)
    job = IndexJob.objects.for_owner(chat.owner_id).get(chat=chat)
    assert index_jobs.execute_claimed(jobs.claim(IndexJob, job.pk)) is False
    assert not Passage.objects.for_owner(chat.owner_id).filter(lexemes=None).exists()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where did we leave the boat?", "english"),
        ("Wo haben wir das Boot gelassen?", "german"),
        ("Où avons-nous laissé le bateau ?", "french"),
        ("¿Dónde dejamos el barco?", "spanish"),
        ("Dove abbiamo lasciato la barca?", "italian"),
        ("Где мы оставили лодку?", "russian"),
        ("Wolfratshausen", None),
        ("青铜钥匙", None),
    ],
)
def test_the_language_of_a_text_is_told_by_its_function_words(text, language):
    assert configuration_of(text) == language


def test_words_are_folded_and_counted_as_their_script_demands():
    assert folded("Ｃａｆé Ёж Straße ЙОД") == "cafe еж strasse йод"
    assert words_of("Tom的猫叫豆包") == ["tom", "的猫", "猫叫", "叫豆", "豆包"]
    assert word_count("The boat.") == 2
    assert word_count("青铜钥匙在哪里") == 4


def test_the_sentence_of_a_text_without_spaces_is_found():
    assert best_sentence("我是磨坊主。我妹妹住在海边。我对坚果过敏。", "谁对坚果过敏？") == "我对坚果过敏。"


SPEAKERS = [Speaker("晓晓", True, 9, 90), Speaker("阿澈", False, 9, 90)]


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        ("阿澈住在哪里？", {"阿澈"}),
        ("我那次怎么会跑到那里去的？", {"晓晓"}),
        ("你答应过什么？", {"阿澈"}),
        ("龙怕什么？", set()),
    ],
)
def test_who_is_asked_about_is_told_in_chinese_too(query, subjects):
    assert subjects_of(query, SPEAKERS) == subjects


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        ("De quoi Maëlle a-t-elle peur ?", set()),
        ("À quelle heure est le rendez-vous chez le notaire ?", set()),
        ("Où l'a-t-on retrouvée, mon écharpe ?", {"Camille"}),
        ("Qui t'a donné la clé ?", {"Odilon"}),
        ("Où étiez-vous ?", {"Odilon"}),
        ("Was hast du?", {"Odilon"}),
    ],
)
def test_a_part_of_a_verb_or_a_noun_is_no_pronoun(query, subjects):
    assert subjects_of(query, [Speaker("Camille", True, 9, 90), Speaker("Odilon", False, 9, 90)]) == subjects


def test_an_assistant_is_asked_about_what_the_user_said():
    speakers = [Speaker("Jo", True, 9, 90), Speaker("Assistant", False, 9, 900)]
    assert subjects_of("Which libraries does the project use?", speakers) == {"Jo"}
    assert subjects_of("What did you recommend?", speakers) == {"Assistant"}
    assert subjects_of("Which libraries does the project use?", [speakers[0], Speaker("Mira", False, 9, 900)]) == set()


def test_a_running_dialogue_is_compared_as_a_whole_and_by_its_lines():
    talk = "Lena: We won the race!\nAssistant: Well done! How do you feel?\nLena: Proud."
    parsed = parse_query(talk, [Speaker("Tom", True, 9, 90)], separate_names=True)
    assert parsed.is_dialogue
    assert parsed.text == talk
    assert parsed.sentences == ("We won the race!", "Well done! How do you feel?", "Proud.")
    assert parsed.subjects == {"Lena", "Assistant"}
    assert not parse_query("Note: the race. Who won it?", [], separate_names=True).is_dialogue
    assert not parse_query(talk, [], separate_names=PRESETS["dense"].separate_names).is_dialogue


def test_a_chapter_is_divided_into_sentences_in_no_time():
    chapter = "他说：“好。我们走吧！”她没有回答？天黑了。\n" * 5000
    with takes_at_most(1):  # second; it was eight and more
        assert list(sentences_in(chapter)) == [*("他说：“好。", "我们走吧！”", "她没有回答？", "天黑了。")] * 5000
