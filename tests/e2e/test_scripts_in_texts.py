"""No text that a user or a file brings runs as a script, on no page and not in the admin site.

The gate has the browser parse every page, and opens those of which each has an element that no other has; the admin
site's, which has no scripts of Loci's, are only parsed. Exploring opens all of them.
"""

from itertools import count, product
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.db import DatabaseError, models, transaction
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import append_messages, create_chat
from apps.common.scoping import OwnedModel
from apps.extraction.prompts.task import TASKS
from tests.contract.test_owner_scope import things_of_alice
from tests.e2e.test_accessibility import pages_of, unlike_pages
from tests.factories import make_character, make_memory, parsed
from tests.lanes import further

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

# What ends the place where a text stands, and what would run a script then.
ENDS = ("", '">', "'>", "</textarea>", "</title></head>", "</script>", "--></style>", "\x00")
MARKUP = (
    "<script>xss()</script>",
    "<ScRiPt src=data:text/javascript,xss()></sCrIpT>",
    "<img src=x onerror=xss()>",
    "<svg onload=xss()>",
    "<svg><a xlink:href=javascript:xss()><text y=20>x</text></a></svg>",
    "<math><mtext><a href='javascript:xss()'>x</a></mtext></math>",
    "<iframe srcdoc='<script>parent.xss()</script>'></iframe>",
    "<details open ontoggle=xss()><summary>x</summary></details>",
    "<input autofocus onfocus=xss()>",
    "<video><source onerror=xss()></video>",
    "<form action=javascript:xss()><button>x</button></form>",
    "<object data=javascript:xss()></object>",
    "<noscript><p title='</noscript><img src=x onerror=xss()>'></noscript>",
    "<b hx-get=/ hx-trigger=load hx-on::load=xss() data-hx-vals='js:xss()'>x</b>",
)
TEXTS = (
    "[x](javascript:xss())",
    "[x](  JaVaScRiPt&colon;xss())",
    "[x](jav&#x09;ascript:xss())",
    "[x](data:text/html;base64,PHNjcmlwdD5wYXJlbnQueHNzKCk8L3NjcmlwdD4=)",
    '![x](x"onerror="xss())',
    '[x](x "onmouseover=xss() autofocus onfocus=xss()")',
    "[x]: javascript:xss()\n\n[x]",
    "<javascript:xss()>",
    "`<img src=x onerror=xss()>`",
    "```html\n<script>xss()</script>\n```",
    "*<img src=x onerror=xss()>*",
    "&lt;script&gt;xss()&lt;/script&gt;",
    "&#60;script>xss()&#60;/script>",
    "{{ constructor.constructor('xss()')() }}",
    "{% load x %}{{ request }}",
    "${xss()}",
    '"onfocus=xss() autofocus x="',
    "'-xss()-'",
    "\\u003cscript>xss()\\u003c/script>",
    "\u202e<script>xss()</script>",
)
PAYLOADS = [*(f"{end}{markup}" for end, markup in product(ENDS, MARKUP)), *TEXTS]
STORED = [payload.replace("\x00", "") for payload in PAYLOADS]  # Postgres takes no null character
PER_CHAT = 40

# What addresses, settings and keys of programs are, and not what somebody wrote.
NOT_TEXTS = {"base_url", "file", "backend", "time_zone", "password", "claim", "hash", "digest", "key", "secret", "code"}
NOT_TEXTS |= {"period", "media_type", "model", "namespace", "filename_hash"}

FIND = """(document) => [...document.querySelectorAll("*")].flatMap((element) => {
    const found = [...element.attributes].filter(({ name, value }) =>
        name.startsWith("on") || name === "srcdoc" || name.startsWith("hx-on") || /^(data-)?hx-vals$/.test(name) ||
        (/^(href|src|action|formaction|data|xlink:href)$/.test(name) && /^[\\s\\0-\\x20]*javascript/i.test(value)));
    const isScript = element.localName === "script" && element.type !== "application/json";
    const scripted = isScript && /xss/.test(element.textContent);
    return found.length || scripted ? [element.outerHTML.slice(0, 200)] : [];
})"""

# What is unfolded tells its scripts before the second frame.
UNFOLD_AND_FIND = f"""async () => {{
    for (const folded of document.querySelectorAll("main details")) folded.open = true;
    for (let n = 0; n < 2; n += 1) await new Promise((resolve) => {{ requestAnimationFrame(resolve); }});
    return ({FIND})(document);
}}"""


@pytest.fixture
def filled(transactional_db: None) -> tuple[dict[str, Any], list[Chat]]:
    """An account with one thing of each kind, each of its texts a payload, and chats with every payload."""
    ids = things_of_alice()
    alice = ids["user"]
    chats = []
    for start in range(0, len(STORED), PER_CHAT):
        payloads = STORED[start : start + PER_CHAT]
        character = make_character(alice, name=payloads[0][:200], description=payloads[1], first_mes=payloads[2])
        chat = create_chat(alice, title=payloads[0], character=character, user_name=payloads[1][:200])
        append_messages(alice, chat.pk, [parsed(payload, name=payload[:200]) for payload in payloads])
        for payload in payloads:
            make_memory(chat, payload)
            make_character(alice, name=payload[:200])
        chats.append(chat)
    overwrite_texts()
    return ids, chats


def overwrite_texts() -> None:
    """Write payloads into each text of each row, unless the database refuses them there."""
    number = count()
    for model in apps.get_models():
        if issubclass(model, OwnedModel):
            for field in model._meta.concrete_fields:
                if is_text(field):
                    fitting = [text for text in STORED if field.max_length is None or len(text) <= field.max_length]
                    for row in model._base_manager.values_list("pk", flat=True)[:60] if fitting else ():
                        write(model, row, field.name, fitting[next(number) % len(fitting)])


def is_text(field: Any) -> bool:
    plain = type(field) in (models.TextField, models.CharField)
    return plain and not field.choices and field.name not in NOT_TEXTS and not field.name.endswith("hash")


def write(model: type[models.Model], row: Any, name: str, text: str) -> None:
    try:
        with transaction.atomic():
            model._base_manager.filter(pk=row).update(**{name: text})
    except DatabaseError:  # a name that has to be unique, or a word from a list
        pass


def watch(page: Page) -> list[str]:
    """Collect scripts that ran, and what the Content-Security-Policy has refused."""
    seen: list[str] = []
    page.expose_function("xss", lambda: seen.append(f"ran on {page.url}"))
    page.expose_function("refused", lambda what: seen.append(f"refused on {page.url}: {what}"))
    page.add_init_script(
        "addEventListener('securitypolicyviolation', (e) => refused(`${e.violatedDirective} ${e.blockedURI}`))"
    )
    page.on("dialog", lambda dialog: (seen.append(f"dialog on {page.url}"), dialog.dismiss()))
    return seen


def sign_in(page: Page, live_server: LiveServer, user: User) -> Client:
    client = Client(raise_request_exception=False)  # some rows are such as no operation would leave
    client.force_login(user)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    return client


def found_in(page: Page, pages: dict[str, str]) -> list[str]:
    """Have the browser parse pages, without their scripts, and return what shouldn't be in them."""
    page.goto("about:blank")  # whose policy is not that of a page of Loci's
    parse = f"html => ({FIND})(new DOMParser().parseFromString(html, 'text/html'))"
    return [f"{path}: {element}" for path, text in pages.items() for element in page.evaluate(parse, text)]


def found_on(page: Page, paths: list[str]) -> list[str]:
    """Open pages, unfold and focus what is there, and return what shouldn't be in them."""
    found = []
    for path in paths:
        page.goto(path)
        found += [f"{path}: {element}" for element in page.evaluate(UNFOLD_AND_FIND)]
    return found


@pytest.mark.parametrize("every", [False, further(True)], ids=["unlike pages", "every page"])
def test_no_text_of_an_account_runs_on_its_pages_or_in_the_admin_site(
    every: bool, page: Page, live_server: LiveServer, filled: tuple[dict[str, Any], list[Chat]]
) -> None:
    ids, chats = filled
    assert len(set(PAYLOADS)) >= 100
    seen = watch(page)
    client = sign_in(page, live_server, ids["user"])
    paths = [f"/memories/?chat={chat.pk}" for chat in chats] + [f"/characters/?page={number}" for number in range(1, 5)]
    many = {path: client.get(path).content.decode() for path in paths}
    pages = dict(pages_of(client, {"task": next(iter(TASKS)), **ids}))
    assert len(pages) > 70
    assert len(found_in(page, {"none": MARKUP[2]})) == 1  # it would be found
    assert found_in(page, many | pages) == []
    # Scripts of the chat page show its texts, and are given all of them.
    opened = [f"/chats/{chat.pk}/" for chat in chats]
    opened += [*many, *pages] if every else unlike_pages(many | pages)
    assert found_on(page, opened) == []
    client = sign_in(page, live_server, User.objects.create_superuser("root@example.com", "root-password"))
    pages = {path: client.get(path).content.decode() for path in admin_paths(2 if every else 1)}
    assert len(pages) > 20
    assert (found_on(page, list(pages)) if every else found_in(page, pages)) == []
    assert seen == []


def admin_paths(entries: int) -> list[str]:
    """Return the paths of the admin site: of each list, and of so many entries of each."""
    paths = [reverse("admin:index")]
    for model in admin.site._registry:
        name = model._meta.label_lower.replace(".", "_")
        paths.append(reverse(f"admin:{name}_changelist"))
        rows = list(model._base_manager.values_list("pk", flat=True)[:entries])
        paths += [reverse(f"admin:{name}_change", args=[row]) for row in rows]
    return paths
