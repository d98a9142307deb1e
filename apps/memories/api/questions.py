"""Views of the questions which of two memories is true now."""

from typing import Any
from uuid import UUID

import django_filters
from django.db.models import Q, QuerySet
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import ChoiceField, StrictSerializer, read_body
from apps.common.scoping import OWN_NAMESPACE
from apps.memories.api.base import get_or_missing
from apps.memories.api.serializers import MemorySerializer
from apps.memories.models import Question
from apps.memories.operations.questions import reopen, settle
from apps.memories.queries.questions import questions_of, still_open


class QuestionSerializer(serializers.Serializer[Question]):
    """Two memories of which one may replace the other; nothing says which of them was said later."""

    id = serializers.UUIDField()
    chat = serializers.UUIDField(source="chat_id", help_text="The chat in which the second memory was learnt.")
    first = MemorySerializer()
    second = MemorySerializer()
    answer = ChoiceField([("", "None"), *Question.Answer.choices], help_text="Empty if not answered.")
    answered_by = serializers.CharField()
    answered_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class AnswerSerializer(StrictSerializer):
    """The memory that is true now, or both."""

    answer = ChoiceField(Question.Answer.choices)


class QuestionFilter(django_filters.FilterSet):
    """Filters of ``GET memories/questions/``. Without ``state``, open and answered questions are listed."""

    chat = django_filters.UUIDFilter(method="filter_chat")
    character = django_filters.UUIDFilter(field_name="second__character")
    state = django_filters.ChoiceFilter(choices=[("open", "Open"), ("answered", "Answered")], method="filter_state")

    class Meta:
        model = Question
        fields: list[str] = []

    def filter_chat(self, questions: QuerySet[Question], name: str, value: UUID) -> QuerySet[Question]:
        """Return questions about a memory that was learnt in the chat."""
        return questions.filter(Q(chat=value) | Q(first__chat=value))

    def filter_state(self, questions: QuerySet[Question], name: str, value: str) -> QuerySet[Question]:
        """Return questions that wait for an answer, or those that have one."""
        return still_open(questions) if value == "open" else questions.exclude(answer="")


class QuestionViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Question]):
    """The requester's questions, newest first."""

    serializer_class = QuestionSerializer
    pagination_class = NewestFirstPagination
    filter_backends = [DjangoFilterBackend]
    filterset_class = QuestionFilter

    def get_queryset(self) -> QuerySet[Question]:
        questions = questions_of(self.request.user)
        is_of_all = self.action == "list" and not self.request.query_params.keys() & {"chat", "character"}
        return questions.filter(first__namespace=OWN_NAMESPACE) if is_of_all else questions

    def get_object(self) -> Question:
        return get_or_missing(self.get_queryset(), pk=self.kwargs["question_id"])

    @extend_schema(request=AnswerSerializer, responses=QuestionSerializer)
    def settle(self, request: Request, question_id: UUID) -> Response:
        """Answer a question. The memory that is not true now is superseded by the other one."""
        question = self.get_object()
        body: dict[str, Any] = read_body(AnswerSerializer, request)
        settle(question, body["answer"], editor=str(request.user))
        return Response(QuestionSerializer(self.get_object()).data)

    @extend_schema(request=None, responses=QuestionSerializer)
    def reopen(self, request: Request, question_id: UUID) -> Response:
        """Take an answer back. The memory that it superseded becomes active again."""
        reopen(self.get_object())
        return Response(QuestionSerializer(self.get_object()).data)
