"""URL patterns for the memories pages, under ``/memories/``."""

from django.urls import path

from apps.memories.views import (
    book,
    corrections,
    entities,
    memories,
    merging,
    person_overview,
    questions,
    selection,
    story,
    writing,
)

app_name = "memories"
READ_ONLY = {"http_method_names": ["get", "head"]}

urlpatterns = [
    path("", memories.index, name="index"),
    path("welcome/", memories.welcome, name="welcome"),
    path("you/", person_overview.about_you, name="about-you"),
    path("merge/", merging.merge, name="merge"),
    path("chosen/", selection.change, name="change-chosen"),
    path("chosen/undo/<uuid:change_id>/", selection.undo, name="undo-chosen"),
    path("<uuid:memory_id>/", memories.detail, name="detail"),
    path("<uuid:memory_id>/edit/", memories.edit, name="edit"),
    path("<uuid:memory_id>/split/", merging.split, name="split"),
    path("<uuid:memory_id>/revert/", memories.revert, name="revert"),
    path("<uuid:memory_id>/unmerge/", merging.unmerge, name="unmerge"),
    path("<uuid:memory_id>/unsplit/", merging.unsplit, name="unsplit"),
    path("<uuid:memory_id>/delete/", memories.delete, name="delete"),
    path("<uuid:memory_id>/restore/", memories.restore, name="restore"),
    path("<uuid:memory_id>/pin/", memories.toggle, {"flag": "pinned"}, name="pin"),
    path("<uuid:memory_id>/hide/", memories.toggle, {"flag": "hidden"}, name="hide"),
    path("chats/<uuid:chat_id>/remember/", writing.remember, name="remember"),
    path("characters/<uuid:character_id>/remember/", writing.remember, name="character-remember"),
    path("chats/<uuid:chat_id>/rail/", memories.rail, name="rail"),
    path("chats/<uuid:chat_id>/book/", book.timeline, name="book-timeline"),
    path("chats/<uuid:chat_id>/book/story/", story.story, name="book-story"),
    path("chats/<uuid:chat_id>/book/arcs/", book.ArcsView.as_view(), name="book-arcs"),
    path("chats/<uuid:chat_id>/book/scenes/", book.scenes, name="book-scenes"),
    path("chats/<uuid:chat_id>/book/ledger/", book.LedgerView.as_view(), name="book-ledger"),
    path("chats/<uuid:chat_id>/book/knowledge/", book.KnowledgeView.as_view(), name="book-knowledge"),
    path("chats/<uuid:chat_id>/book/relationships/", book.RelationshipsView.as_view(), name="book-relationships"),
    path("chats/<uuid:chat_id>/book/names/", entities.index, name="book-names"),
    path("chats/<uuid:chat_id>/book/questions/", questions.questions, name="book-questions"),
    path("characters/<uuid:character_id>/", person_overview.about_character, name="about-character"),
    # A character's book is read-only: its entries are added in the books of chats.
    path("characters/<uuid:character_id>/book/", book.timeline, name="character-timeline"),
    path("characters/<uuid:character_id>/book/story/", story.story, name="character-story"),
    path("characters/<uuid:character_id>/book/arcs/", book.ArcsView.as_view(**READ_ONLY), name="character-arcs"),
    path(
        "characters/<uuid:character_id>/book/knowledge/",
        book.KnowledgeView.as_view(**READ_ONLY),
        name="character-knowledge",
    ),
    path(
        "characters/<uuid:character_id>/book/relationships/",
        book.RelationshipsView.as_view(**READ_ONLY),
        name="character-relationships",
    ),
    path("characters/<uuid:character_id>/book/names/", entities.index, name="character-names"),
    path("characters/<uuid:character_id>/book/questions/", questions.questions, name="character-questions"),
    path("entities/<uuid:entity_id>/", entities.detail, name="entity"),
    path("entities/<uuid:entity_id>/merge/", entities.merge, name="entity-merge"),
    path("entities/<uuid:entity_id>/split/", entities.split, name="entity-split"),
    path("entities/merges/<uuid:merge_id>/undo/", entities.unmerge, name="entity-unmerge"),
    path("digests/<uuid:version_id>/restore/", story.restore_text, name="text-restore"),
]
urlpatterns += [
    path(f"{plural}/<uuid:{singular}_id>/{action}/", view, {"action": action}, name=f"{singular}-{action}")
    for plural, singular, view, actions in (
        ("arcs", "arc", corrections.change_arc, ("close", "reopen", "persist", "edit")),
        ("scenes", "found_scene", corrections.change_scene, ("edit", "dismiss", "bring-back")),
        ("questions", "question", questions.change_question, ("first", "second", "both", "reopen")),
    )
    for action in actions
]
urlpatterns += [
    path(
        f"{layer}/<uuid:{layer}_id>/{action}/",
        corrections.change_entry,
        {"layer": layer, "action": action},
        name=f"{layer}-{action}",
    )
    for layer in corrections.LAYER_MODELS
    for action in ("retire", "restore")
]
urlpatterns += [
    path(f"chats/<uuid:chat_id>/book/story/{part}/", story.edit_story, {"part": part}, name=f"story-{part}")
    for part in story.EDITABLE_TEXTS
]
