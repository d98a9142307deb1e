"""The OpenAI-compatible API at the root. No database connection is held during a call of the upstream."""

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import APIException

from apps.common.database.connections import in_database
from apps.common.problems import Problem
from apps.proxy.errors import error_response, openai_error
from apps.proxy.preparing import prepare_call
from apps.proxy.requests.headers import owner_of
from apps.proxy.upstream.connections import connection_of, models_of
from apps.proxy.upstream.relaying import relayed_reply


@csrf_exempt
async def chat_completions(request: HttpRequest) -> HttpResponseBase:
    """Pass a request for a completion on, with memory, and the reply back as it arrives."""
    if request.method != "POST":
        return openai_error(405, "Send a POST request.")
    try:
        call = await in_database(prepare_call, request)
    except (Problem, APIException) as error:
        return error_response(error)
    except RequestDataTooBig:
        return openai_error(413, "The body is too large.")
    response = await relayed_reply(call, request)
    for name, value in call.headers.items():
        response[name] = value
    return response


@csrf_exempt
async def models(request: HttpRequest) -> HttpResponse:
    """List the models that a client may choose."""
    if request.method != "GET":
        return openai_error(405, "Send a GET request.")
    try:
        names = await in_database(lambda: models_of(connection_of(owner_of(request))))
    except (Problem, APIException) as error:
        return error_response(error)
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "loci"} for name in names]
    return JsonResponse({"object": "list", "data": listed})


@csrf_exempt
async def unknown(request: HttpRequest) -> HttpResponse:
    """Tell a client, in the form that it reads, that a route of OpenAI's API is none here."""
    return openai_error(404, f"Loci has /v1/chat/completions and /v1/models, but not {request.path}.")
