"""The page of the search."""

from dataclasses import replace

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.search.forms import SearchForm
from apps.search.reasons import describe_signals
from apps.search.service import search
from apps.search.unindexed import find_unindexed

SEARCH_RESULTS = 30


@login_required
@require_safe
def search_everything(request: HttpRequest) -> HttpResponse:
    """Search memories and messages for the words in ``?q=``, with filters."""
    given = request.GET.copy()
    given["q"] = words = given.get("q", "").replace("\x00", "").strip()[:500]
    form = SearchForm(given, request.user)
    query = form.query(SEARCH_RESULTS)
    response = search(request.user, query) if query else None
    if response:  # the nearest of few texts may have nothing in common with the query
        found = [result for result in response.results if describe_signals(result.signals)]
        response = replace(response, results=found)
    unindexed = find_unindexed(request.user, words) if query and not form.filters else None
    context = {"form": form, "words": words, "response": response, "unindexed": unindexed}
    return render(request, "search/search.html", context)
