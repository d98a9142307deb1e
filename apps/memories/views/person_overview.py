"""The pages of what is known about the user and about a character."""

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.chats.views.access import own_character
from apps.memories.models import VersionedText
from apps.memories.queries.guesses import divided
from apps.memories.queries.memories import add_witness_names
from apps.memories.queries.person_overview import PersonOverview, names_of_user, overview_of
from apps.memories.queries.texts import versions_of


@login_required
@require_safe
def about_you(request: HttpRequest) -> HttpResponse:
    """Show what is known about the user, under all the names that they have in stories."""
    user = cast(User, request.user)
    return _page(request, overview_of(user, names_of_user(user)))


@login_required
@require_safe
def about_character(request: HttpRequest, character_id: UUID) -> HttpResponse:
    """Show what is known about a character, from all chats."""
    character = own_character(request, character_id)
    names = list(dict.fromkeys((character.name, character.called)))
    profiles, _ = divided(text for text in versions_of(character) if text.kind == VersionedText.Kind.PROFILE)
    known = overview_of(character.owner_id, names, character)
    return _page(request, known, character=character, profile=profiles[0] if profiles else None)


def _page(request: HttpRequest, known: PersonOverview, **context: Any) -> HttpResponse:
    add_witness_names(known.memories)
    return render(request, "memories/known/index.html", {"known": known, **context})
