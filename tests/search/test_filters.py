"""Filters for search results."""

from apps.search.templatetags.search_filters import mark_sentence, without_bullets

TEXT = "- Emlyn gave Ione the key. She wore it. [chat:a-chat]\n- The bell rang. [via:desk]"


def test_an_entry_of_the_journal_is_shown_without_its_markers_and_tags() -> None:
    assert without_bullets(TEXT) == "Emlyn gave Ione the key. She wore it. The bell rang."


def test_the_matching_sentence_is_marked_also_where_a_bullet_begins_with_it() -> None:
    marked = mark_sentence(without_bullets(TEXT), without_bullets("- Emlyn gave Ione the key."))
    assert marked.startswith("<mark>Emlyn gave Ione the key.</mark> She")
