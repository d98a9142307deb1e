"""Routes of the memories pages, below ``/memories/``."""

from django.urls import path

from apps.memories.views import book, memories, runs

app_name = "memories"
urlpatterns = [
    path("", memories.index, name="index"),
    path("search/", memories.search_everything, name="search"),
    path("merge/", memories.merge, name="merge"),
    path("<uuid:memory_id>/", memories.detail, name="detail"),
    path("<uuid:memory_id>/edit/", memories.edit, name="edit"),
    path("<uuid:memory_id>/split/", memories.split, name="split"),
    path("<uuid:memory_id>/delete/", memories.delete, name="delete"),
    path("<uuid:memory_id>/restore/", memories.restore, name="restore"),
    path("<uuid:memory_id>/pin/", memories.toggle, {"mark": "pinned"}, name="pin"),
    path("<uuid:memory_id>/hide/", memories.toggle, {"mark": "hidden"}, name="hide"),
    path("chats/<uuid:chat_id>/rail/", memories.rail, name="rail"),
    path("chats/<uuid:chat_id>/progress/", runs.progress, name="progress"),
    path("chats/<uuid:chat_id>/extract/", runs.extract, name="extract"),
    path("runs/<uuid:run_id>/", runs.detail, name="run"),
    path("runs/<uuid:run_id>/cancel/", runs.change, {"action": "cancel"}, name="cancel"),
    path("runs/<uuid:run_id>/pause/", runs.change, {"action": "pause"}, name="pause"),
    path("runs/<uuid:run_id>/resume/", runs.change, {"action": "resume"}, name="resume"),
    path("chats/<uuid:chat_id>/book/", book.timeline, name="book-timeline"),
    path("chats/<uuid:chat_id>/book/arcs/", book.arcs, name="book-arcs"),
    path("chats/<uuid:chat_id>/book/scenes/", book.scenes, name="book-scenes"),
    path("chats/<uuid:chat_id>/book/ledger/", book.ledger, name="book-ledger"),
    path("chats/<uuid:chat_id>/book/knowledge/", book.knowledge, name="book-knowledge"),
    path("chats/<uuid:chat_id>/book/relationships/", book.relationships, name="book-relationships"),
    path("chats/<uuid:chat_id>/book/story/", book.story, name="book-story"),
    path("chats/<uuid:chat_id>/book/story/versions/<uuid:digest_id>/", book.restore_story, name="book-story-restore"),
    path("chats/<uuid:chat_id>/book/runs/", runs.index, name="book-runs"),
]
urlpatterns += [
    path(f"chats/<uuid:chat_id>/book/{tab}/<uuid:{row}_id>/{action}/", view, {"action": action}, name=f"{row}-{action}")
    for tab, row, view, actions in (
        ("arcs", "arc", book.change_arc, ("close", "reopen", "persist", "edit")),
        ("scenes", "found_scene", book.change_scene, ("edit", "dismiss", "bring-back")),
    )
    for action in actions
]
urlpatterns += [
    path(
        f"chats/<uuid:chat_id>/book/{layer}/<uuid:{layer}_id>/{action}/",
        book.change_row,
        {"layer": layer, "action": action},
        name=f"{layer}-{action}",
    )
    for layer in book.ROWS
    for action in ("retire", "restore")
]
urlpatterns += [
    path(f"chats/<uuid:chat_id>/book/story/{part}/", book.edit_story, {"part": part}, name=f"story-{part}")
    for part in book.STORY
]
urlpatterns += [
    path(f"chats/<uuid:chat_id>/book/story/{part}/make/", book.make_story, {"part": part}, name=f"make-{part}")
    for part in ("profiles", "canon", "continuity")
]
