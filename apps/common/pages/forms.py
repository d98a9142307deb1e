"""Forms whose write may be refused after they were valid."""

from collections.abc import Iterator
from contextlib import contextmanager

from django import forms

from apps.common.problems import Missing, Problem


@contextmanager
def refused_into(form: forms.BaseForm) -> Iterator[None]:
    """Add the problem that a write raises to the form, which is shown again as it was filled in.

    An error that names no field of the form stands at its first one. Missing is raised, since then the page is gone.
    """
    try:
        yield
    except Missing:
        raise
    except Problem as problem:
        first = form.visible_fields()[0].name
        named = [(error.pointer.removeprefix("/"), error.detail) for error in problem.errors]
        for name, detail in named or [(first, problem.detail)]:
            form.add_error(name if name in form.fields else first, detail)
