"""Query parameters of writes: each view names those that it reads, and any other is refused."""

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from apps.common.problems import MAX_ERRORS, FieldError, Invalid, pointer_of

Handler = TypeVar("Handler", bound=Callable[..., Any])
Parameter = OpenApiParameter | type[serializers.Serializer[Any]]


def takes_query(*parameters: Parameter) -> Callable[[Handler], Handler]:
    """Decorate the method of a view that writes and reads query parameters: they are accepted and documented."""
    names = frozenset(name for parameter in parameters for name in _names_of(parameter))

    def decorate(handler: Handler) -> Handler:
        handler.query_names = names  # type: ignore[attr-defined]
        documented: Handler = extend_schema(parameters=list(parameters))(handler)
        return documented

    return decorate


def _names_of(parameter: Parameter) -> list[str]:
    return [parameter.name] if isinstance(parameter, OpenApiParameter) else list(parameter().fields)


class KnownParameters(BasePermission):
    """Refuse a write with a query parameter that its view doesn't read, before anything is written.

    It is a permission because those are what REST framework asks before each view. It comes after the others, so that
    a request without a valid token gets a 401.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return True. Raise Invalid for unknown parameters."""
        if request.method in SAFE_METHODS or not request.query_params:
            return True
        handler = getattr(view, str(request.method).lower(), None)
        unknown = sorted(request.query_params.keys() - getattr(handler, "query_names", frozenset()))
        if unknown:
            detail = "It is no query parameter of this write."
            raise Invalid(detail, errors=[FieldError(pointer_of([name]), detail) for name in unknown[:MAX_ERRORS]])
        return True
