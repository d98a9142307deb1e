"""Routes of the memories pages, below ``/memories/``."""

from django.urls import path
from django.views.decorators.http import require_safe

from apps.memories.views import book, corrections, entities, memories, story

app_name = "memories"
urlpatterns = [
    path("", memories.index, name="index"),
    path("search/", memories.search_everything, name="search"),
    path("merge/", memories.merge, name="merge"),
    path("<uuid:memory_id>/", memories.detail, name="detail"),
    path("<uuid:memory_id>/edit/", memories.edit, name="edit"),
    path("<uuid:memory_id>/split/", memories.split, name="split"),
    path("<uuid:memory_id>/revert/", memories.revert, name="revert"),
    path("<uuid:memory_id>/unmerge/", memories.unmerge, name="unmerge"),
    path("<uuid:memory_id>/unsplit/", memories.unsplit, name="unsplit"),
    path("<uuid:memory_id>/delete/", memories.delete, name="delete"),
    path("<uuid:memory_id>/restore/", memories.restore, name="restore"),
    path("<uuid:memory_id>/pin/", memories.toggle, {"mark": "pinned"}, name="pin"),
    path("<uuid:memory_id>/hide/", memories.toggle, {"mark": "hidden"}, name="hide"),
    path("chats/<uuid:chat_id>/rail/", memories.rail, name="rail"),
    path("chats/<uuid:chat_id>/book/", book.timeline, name="book-timeline"),
    path("chats/<uuid:chat_id>/book/story/", story.story, name="book-story"),
    path("chats/<uuid:chat_id>/book/arcs/", book.arcs, name="book-arcs"),
    path("chats/<uuid:chat_id>/book/scenes/", book.scenes, name="book-scenes"),
    path("chats/<uuid:chat_id>/book/ledger/", book.ledger, name="book-ledger"),
    path("chats/<uuid:chat_id>/book/knowledge/", book.knowledge, name="book-knowledge"),
    path("chats/<uuid:chat_id>/book/relationships/", book.relationships, name="book-relationships"),
    path("chats/<uuid:chat_id>/book/names/", entities.index, name="book-names"),
    # A character's book is read; what is added is added to a chat's.
    path("characters/<uuid:character_id>/book/", book.timeline, name="character-timeline"),
    path("characters/<uuid:character_id>/book/story/", story.story, name="character-story"),
    path("characters/<uuid:character_id>/book/arcs/", require_safe(book.arcs), name="character-arcs"),
    path("characters/<uuid:character_id>/book/knowledge/", require_safe(book.knowledge), name="character-knowledge"),
    path(
        "characters/<uuid:character_id>/book/relationships/",
        require_safe(book.relationships),
        name="character-relationships",
    ),
    path("characters/<uuid:character_id>/book/names/", entities.index, name="character-names"),
    path("entities/<uuid:entity_id>/", entities.detail, name="entity"),
    path("entities/<uuid:entity_id>/merge/", entities.merge, name="entity-merge"),
    path("digests/<uuid:digest_id>/restore/", story.restore_digest, name="digest-restore"),
]
urlpatterns += [
    path(f"{rows}/<uuid:{row}_id>/{action}/", view, {"action": action}, name=f"{row}-{action}")
    for rows, row, view, actions in (
        ("arcs", "arc", corrections.change_arc, ("close", "reopen", "persist", "edit")),
        ("scenes", "found_scene", corrections.change_scene, ("edit", "dismiss", "bring-back")),
    )
    for action in actions
]
urlpatterns += [
    path(
        f"{layer}/<uuid:{layer}_id>/{action}/",
        corrections.change_row,
        {"layer": layer, "action": action},
        name=f"{layer}-{action}",
    )
    for layer in corrections.ROWS
    for action in ("retire", "restore")
]
urlpatterns += [
    path(f"chats/<uuid:chat_id>/book/story/{part}/", story.edit_story, {"part": part}, name=f"story-{part}")
    for part in story.STORY
]
