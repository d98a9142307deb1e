"""The gallery in which a new chat is started: with a character, with several, or without a card."""

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.models import User
from apps.chats import operations
from apps.chats.forms.chat_list import GalleryForm
from apps.chats.forms.chats import NewChatForm
from apps.chats.models import Character, Chat
from apps.chats.queries import character_tags, list_characters
from apps.chats.views.access import own_character, wants_partial
from apps.common.pages.forms import refused_into

PAGE_SIZE = 48


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Show the characters, or start a chat. It opens with the greetings of those who were chosen.

    The name of a user without personas becomes the first one.
    """
    user = cast(User, request.user)
    form = NewChatForm(user, request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refused_into(form):
            return redirect("chats:detail", chat_id=_create(user, form).pk)
    context = {"form": form, **_gallery(user, request.GET)}
    if wants_partial(request) and not form.is_bound:
        return render(request, "chats/new/_gallery.html", context)
    context["tags"] = character_tags(user)
    return render(request, "chats/new/index.html", context, status=400 if form.errors else 200)


def _gallery(user: User, query: QueryDict) -> dict[str, Any]:
    """Return the characters that match the search. Those chosen for a group stay first, so that none is lost."""
    filters = GalleryForm(query).filters()
    found = list_characters(user, filters["words"], filters["tag"]).exclude(pk__in=filters["members"])
    page = Paginator(found, PAGE_SIZE).get_page(query.get("page"))
    chosen = list_characters(user).filter(pk__in=filters["members"]) if page.number == 1 else []
    return {"page": page, "chosen": chosen, "query": filters["words"], "tag": filters["tag"]}


@transaction.atomic
def _create(user: User, form: NewChatForm) -> Chat:
    """Create the chat of a valid form. Raise QuotaExceeded, and NameTaken for two members of one name."""
    fields = dict(form.cleaned_data)
    name, member, members, greeting, is_group = (
        fields.pop(key) for key in ("character", "start", "member", "greeting", "group")
    )
    if form.asks_first_name and fields["user_name"]:
        fields["persona"] = operations.introduce(user, fields["user_name"])
    if is_group and len(members) > 1:
        return operations.start_group(user, members, **fields)
    chosen = members[0] if is_group else member or _named(user, name)
    if chosen:
        return operations.start_conversation(user, chosen, greeting=greeting, **fields)
    return operations.create_chat(user, **fields)


def _named(user: User, name: str) -> Character | None:
    return operations.find_or_create_character(user, name) if name else None


@login_required
@require_POST
def favourite(request: HttpRequest, character_id: UUID) -> HttpResponse:
    """Make a character a favourite, or no longer one."""
    character = own_character(request, character_id)
    operations.set_favourite(character, not character.is_favourite)
    if wants_partial(request):
        return render(request, "chats/new/_favourite.html", {"character": character})
    return redirect("chats:new")
