"""Store what a client sends. The chat is never locked during a comparison or a call of the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import connection, transaction

from apps.chats.locking import Guard, lock_chat
from apps.chats.message_data.namespaces import LOCI_NAMESPACE, DataChange
from apps.chats.models import Chat, Message
from apps.chats.operations import Patch, add_member, append_messages, branch_chat, create_chat, patch_messages
from apps.chats.queries import access_chat
from apps.common.problems import Missing
from apps.common.scoping import Owner, owner_id_of
from apps.proxy.matching.comparing import Compared, compare, keyed_request, messages_of
from apps.proxy.matching.finding import find_chat, is_found
from apps.proxy.matching.keys import key_of
from apps.proxy.matching.plans import ChangePlan, ComparedMessage, KeyedRequest
from apps.proxy.matching.unfolding import KEPT_INSTRUCTIONS
from apps.proxy.models import ProxiedChat
from apps.proxy.operations.stored_turns import parsed_turn, storable, swipe_of
from apps.proxy.requests.conversations import ClientRequest
from apps.proxy.requests.folded_prompts import PLACEHOLDER
from apps.proxy.requests.speakers import MAX_MEMBERS, Company
from apps.proxy.requests.texts import GAP, normalized, unspaced
from apps.proxy.requests.turns import Turn

TITLE_LENGTH = 60
MAX_CLIENTS = 20  # of a chat; one that was silent for longest is forgotten, and deletes nothing by its next request


@dataclass(frozen=True)
class StoredRequest:
    """The chat of a request, and the message that the reply follows.

    ``continued`` is the text that the reply continues, None if the reply is a message of its own. ``client`` is a hash
    of the token's id, ``speaker`` the name of who replies, if the client tells, ``sent_count`` the number of messages
    that the client has sent.
    """

    chat: Chat
    anchor: UUID
    continued: str | None = None
    client: str = ""
    speaker: str = ""
    sent_count: int = 0


def store_request(owner: Owner, client_request: ClientRequest) -> StoredRequest:
    """Apply to the stored chat what the client has changed. Return it; a repeated request stores nothing twice.

    The chat is the named one, else the one that the turns continue, else a new one. If they continue an earlier point,
    the chat is kept, and they continue a branch; in a named chat one exchange at the end may be deleted, any number if
    the client follows deletions. Raise Missing.
    """
    request = keyed_request(owner, replace(client_request, turns=_without_placeholder(owner, client_request.turns)))
    try:
        return _store(owner, request, client_request.named)
    except Missing:
        if client_request.named is not None:
            raise
    return _store(owner, request, None)  # the chat that was found was put into the bin before it was locked


def _without_placeholder(owner: Owner, turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns without the message that SillyTavern's strict mode puts before a greeting.

    Somebody who says the same has said it in a request of its own.
    """
    if len(turns) < 2 or turns[1].is_user or turns[0] != Turn(True, PLACEHOLDER):
        return turns
    key = key_of(owner_id_of(owner), is_user=True, text=PLACEHOLDER)
    is_said = ProxiedChat.objects.for_owner(owner).filter(is_found(), fingerprints__contains=[key]).exists()
    return turns if is_said else turns[1:]


def _store(owner: Owner, request: KeyedRequest, named: UUID | None) -> StoredRequest:
    """Find the chat of a request, and apply what it changes. Raise Missing."""
    compared = _find(owner, request, named)
    with transaction.atomic():
        if compared is None:
            _lock_owner(owner)
            compared = _find(owner, request, named) or compare(_created(owner, request), request)
        chat = lock_chat(owner, compared.chat.pk)
        if chat.rev != compared.chat.rev:
            compared = compare(chat, request)
        if _is_earlier(compared, request, named):
            compared = compare(_branch(owner, chat, compared.plan, compared.request), request)
        return _apply(owner, compared)


def _find(owner: Owner, request: KeyedRequest, named: UUID | None) -> Compared | None:
    """Return the chat of a request and what it changes, or None for a new one. Raise Missing."""
    if named is None:
        return find_chat(owner, request)
    compared = compare(access_chat(owner, named), request)
    if not _is_earlier(compared, request, named):
        return compared
    # The client went on in a branch before, and still names the chat that it began with.
    branch = find_chat(owner, request, story=compared.chat.story)
    return branch if branch and not branch.plan.dropped_end.user_messages else compared


def _is_earlier(compared: Compared, request: KeyedRequest, named: UUID | None) -> bool:
    """Return whether a request continues an earlier point of the chat, which is to be kept.

    What a client that sends new lines alone leaves out, it has not deleted.
    """
    dropped = compared.plan.dropped_end.user_messages
    if not named or not dropped:
        return bool(dropped)
    if request.client_request.follows:
        return False
    chat, client = compared.chat, request.client_request.client
    rows = ProxiedChat.objects.for_owner(chat.owner_id).filter(chat=chat, client=client)
    sends_history = request.has_history or rows.filter(sends_history=True).exists()
    return dropped > (1 if sends_history else 0)


def _created(owner: Owner, request: KeyedRequest) -> Chat:
    first = next((turn.text for turn in request.turns if turn.is_user), "")
    title = " ".join(first.strip().split(GAP)[0].split())[:TITLE_LENGTH]  # what follows may be an instruction
    company = request.client_request.company
    character = None if company.is_group else request.client_request.character
    title = ", ".join(company.members)[:TITLE_LENGTH] or (character.name if character else title)
    return create_chat(owner, title=title, character=character, user_name=company.user)


def _branch(owner: Owner, chat: Chat, plan: ChangePlan, request: KeyedRequest) -> Chat:
    """Branch a chat after what the client has kept. The client knows of the branch what it knew of the chat."""
    last_kept = plan.dropped_end.last_kept
    if last_kept is None:
        return _created(owner, request)
    messages = messages_of(chat, request.client_request.client)
    at = Message.objects.for_owner(owner).get(pk=last_kept).index
    branch = branch_chat(owner, chat.pk, at)
    copies = Message.objects.for_owner(owner).filter(chat=branch).order_by("index").values_list("pk", flat=True)
    kept = messages[: 1 + next(place for place, one in enumerate(messages) if one.id == last_kept)]
    ids = iter(copies)
    pairs = [(next(ids) if one.is_stored else one.id, one) for one in kept]
    known = [(pk, one.key) for pk, one in pairs if one.is_known]
    remember(branch, request, known)
    return branch


def _lock_owner(owner: Owner) -> None:
    """Lock the creation of an owner's chats, so that two requests of one new chat at once don't create two."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"proxy {owner_id_of(owner)}"])


def _apply(owner: Owner, compared: Compared) -> StoredRequest:
    """Write the changes of a request to a locked chat."""
    chat, plan, request = compared.chat, compared.plan, compared.request
    client_request = request.client_request
    _add_members(owner, chat, client_request.company)
    new = _write(owner, chat, plan, Guard(optional=True, instance=client_request.instance))
    ids = iter(new)
    remember(chat, request, [(pk or next(ids), key) for pk, key in plan.known])
    anchor = plan.anchor or new[-1]
    chat.refresh_from_db()
    count = len(request.turns)
    if request.turns[-1].is_user or client_request.is_nudged:
        return StoredRequest(
            chat, anchor, client=client_request.client, speaker=client_request.speaker, sent_count=count
        )
    continued = Message.objects.for_owner(owner).filter(chat=chat).with_swipes().get(pk=anchor)
    return StoredRequest(chat, anchor, continued.mes, client_request.client, sent_count=count)


def _add_members(owner: Owner, chat: Chat, company: Company) -> None:
    """Make those who take part members of a locked chat."""
    present = set(chat.participants.values_list("name", flat=True)) if company.is_group else set()
    for name in company.members[: MAX_MEMBERS - len(present)]:
        if name not in present:
            add_member(owner, chat.pk, name)


def _write(owner: Owner, chat: Chat, plan: ChangePlan, guard: Guard) -> list[UUID]:
    """Write the changes of a plan. Return the ids of the new messages, in order."""
    patches = [Patch(id=before, insert_before=parsed_turn(chat, turn)) for before, turn in plan.insertions]
    patches += _patches(owner, plan)
    patches += [Patch(id=pk, delete=True) for pk in plan.deletions]
    messages = Message.objects.for_owner(owner).filter(chat=chat).order_by("index").values_list("pk", flat=True)
    before = set(messages) if plan.insertions else set()
    appended: list[Message] = []
    if patches:
        patch_messages(owner, chat.pk, patches, guard)
    if plan.appended:
        appended = append_messages(owner, chat.pk, [parsed_turn(chat, turn) for turn in plan.appended], guard).messages
    if not plan.insertions:
        return [message.pk for message in appended]
    return [pk for pk in messages.all() if pk not in before]


def _patches(owner: Owner, plan: ChangePlan) -> list[Patch]:
    """Return the patches that give messages the client's texts and calls of tools."""
    edits, cleaned = ({one.id: (one, turn) for one, turn in pairs} for pairs in (plan.edits, plan.cleaned))
    respaced = {one.id: turn for one, turn in plan.respaced}
    patches = []
    for message in Message.objects.for_owner(owner).filter(pk__in=[*edits, *respaced, *cleaned]).with_swipes():
        if message.pk in cleaned:
            patches += _edit(message, *cleaned[message.pk], plan)
        elif message.pk in edits:
            patches += _edit(message, *edits[message.pk], plan)
        elif unspaced(message.mes) == unspaced(respaced[message.pk].text):
            # A client joins a reply and its continuation in its own way. What somebody else has changed stays.
            patches.append(Patch(id=message.pk, values={"mes": respaced[message.pk].text}))
    for pk, turn in plan.tools.items():
        patches.append(Patch(id=pk, data=DataChange(LOCI_NAMESPACE, {"tools": storable(turn.tools)})))
    return patches


def _edit(message: Message, compared: ComparedMessage, turn: Turn, plan: ChangePlan) -> list[Patch]:
    """Return the patches that show the text of a turn: by the swipe that has it, an edit, or another swipe.

    It is another swipe if somebody else has changed the text since the client had it, if the reply has swipes, of which
    the client may show one that was changed here, or if the client takes back the end of the last reply to have it
    continued otherwise.
    """
    texts = [normalized(swipe.mes) for swipe in message.ordered_swipes]
    wanted = normalized(turn.text)
    if texts[message.swipe_id] == wanted:
        return []
    if wanted in texts:
        return [Patch(id=message.pk, swipe_id=texts.index(wanted))]
    rewritten = Patch(id=message.pk, values={"mes": turn.text})
    unspaced_texts = list(map(unspaced, texts))
    if unspaced(wanted) in unspaced_texts:
        return [Patch(id=message.pk, swipe_id=unspaced_texts.index(unspaced(wanted))), rewritten]
    is_unchanged = key_of(message.owner_id, is_user=message.is_user, text=message.mes) == compared.key
    has_swipes = not message.is_user and len(texts) > 1
    is_taken_back = message.pk == plan.anchor and not turn.is_user and texts[message.swipe_id].startswith(wanted)
    if is_unchanged and not has_swipes and not is_taken_back:
        return [rewritten]
    return [Patch(id=message.pk, add_swipe=swipe_of(turn))]


def remember(chat: Chat, request: KeyedRequest, known: Sequence[tuple[UUID, int]]) -> None:
    """Store what the client knows of a chat, and by what its next request is recognised."""
    rows = ProxiedChat.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-updated_at")
    row = rows.filter(client=request.client_request.client).first()
    if row is None:
        rows.filter(pk__in=rows.values_list("pk", flat=True)[MAX_CLIENTS - 1 :]).delete()
        row = ProxiedChat(owner_id=chat.owner_id, chat=chat, client=request.client_request.client)
    row.opening = request.opening
    row.fingerprints = list(dict.fromkeys([*row.fingerprints[:1], *request.fingerprints]))
    row.known_messages = [pk for pk, _ in known]
    row.known_keys = [key for _, key in known]
    row.instructions = request.instructions[-KEPT_INSTRUCTIONS:]
    row.sends_history |= request.has_history
    row.save()
