"""The form that binds a lorebook to a persona and a chat."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Chat, Lorebook
from apps.chats.queries import list_personas

MAX_CHATS = 200  # offered; the API binds to any


class LorebookUseForm(forms.Form):
    persona: Any = forms.ModelChoiceField(
        None, required=False, empty_label=_("No persona"), label=_("Used with the persona")
    )
    chat: Any = forms.ModelChoiceField(None, required=False, empty_label=_("No chat"), label=_("Used in the chat"))

    def __init__(self, *args: Any, book: Lorebook, **kwargs: Any) -> None:
        kwargs["initial"] = {"persona": book.persona_id, "chat": book.chat_id}
        super().__init__(*args, **kwargs)
        chats = Chat.objects.for_owner(book.owner_id).own()
        latest = list(chats.order_by("-pk").values_list("pk", flat=True)[:MAX_CHATS])
        bound = [book.chat_id] if book.chat_id else []
        offered = {
            "persona": (list_personas(book.owner_id), "name"),
            "chat": (Chat.objects.for_owner(book.owner_id).filter(pk__in=[*latest, *bound]).order_by("-pk"), "title"),
        }
        for name, (rows, label) in offered.items():
            field: Any = self.fields[name]
            field.queryset = rows
            field.label_from_instance = lambda row, label=label: getattr(row, label)
