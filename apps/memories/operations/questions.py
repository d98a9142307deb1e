"""Ask the person which of two memories is true now, and apply or take back the answer."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.models import Chat
from apps.common.problems import Conflict
from apps.memories.models import Memory, Question
from apps.memories.operations.superseding import supersede, undo_supersede


def ask_which_is_true(chat: Chat, first: UUID, second: Memory) -> None:
    """Record that ``second``, learnt in ``chat``, contradicts ``first``, where neither is known to be newer."""
    Question.objects.for_owner(chat.owner_id).get_or_create(
        first_id=first, second=second, defaults={"owner_id": chat.owner_id, "chat": chat}
    )


@transaction.atomic
def settle(question: Question, answer: str, *, editor: str) -> Question:
    """Apply a person's answer: the memory that is not true now is superseded by the other one.

    Raise Conflict if the question was answered before, or if one of the memories is no longer active.
    """
    question = _locked(question)
    if question.answer or not (question.first.is_active and question.second.is_active):
        raise Conflict(
            gettext("This question was answered in the meantime, or one of the memories is no longer active.")
        )
    if answer == Question.Answer.FIRST:
        supersede(question.chat, question.second_id, question.first)
    elif answer == Question.Answer.SECOND:
        supersede(question.chat, question.first_id, question.second)
    return _save(question, answer=answer, answered_by=editor, answered_at=timezone.now())


@transaction.atomic
def reopen(question: Question) -> Question:
    """Undo ``settle``: the memory that the answer superseded becomes active again."""
    question = _locked(question)
    losers = {
        Question.Answer.FIRST: (question.second_id, question.first_id),
        Question.Answer.SECOND: (question.first_id, question.second_id),
    }
    if question.answer in losers:
        undo_supersede(question.chat, *losers[Question.Answer(question.answer)])
    return _save(question, answer="", answered_by="", answered_at=None)


def _locked(question: Question) -> Question:
    rows = Question.objects.for_owner(question.owner_id).select_for_update(of=("self",))
    return rows.select_related("chat", "first", "second").get(pk=question.pk)


def _save(question: Question, **values: object) -> Question:
    for name, value in values.items():
        setattr(question, name, value)
    question.save(update_fields=list(values))
    return question
