"""What the chat page shows of a chat's replies: the one under way, why the last one failed, and what may be asked."""

from dataclasses import dataclass, field
from uuid import UUID

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Chat, Message, Participant
from apps.chats.queries.replying import reply_connection
from apps.common.words import Words
from apps.prompts.turns import visible_messages
from apps.replies.models import Generation, GenerationPreset
from apps.replies.presets import list_presets

Mode = Generation.Mode
State = Generation.State
LABELS = {
    Mode.REPLY: _("Reply"),
    Mode.SWIPE: _("Another reply"),
    Mode.CONTINUE: _("Continue"),
    Mode.IMPERSONATE: _("Write for me"),
}


@dataclass(frozen=True)
class Panel:
    """State of the replies of a chat.

    ``generation`` is the newest one, unless the chat has gone on since. ``speakers`` may be chosen in a group.
    ``presets`` may be chosen if there are several; ``preset_id`` is that of the last generation. ``modes`` are what
    may be requested. ``outdated``: the user's turn has changed since the reply to it.
    ``turn`` is the user's turn that can be answered again in ``again`` mode once it is edited: the last message, or
    the one before the last reply.
    """

    chat: Chat
    connected: bool
    generation: Generation | None
    modes: list[str] = field(default_factory=list)
    speakers: list[Participant] = field(default_factory=list)
    outdated: bool = False
    presets: list[GenerationPreset] = field(default_factory=list)
    preset_id: UUID | None = None
    turn: Message | None = None

    @property
    def again(self) -> str:
        return Mode.SWIPE if self.turn and Mode.SWIPE in self.modes else Mode.REPLY

    @property
    def active(self) -> Generation | None:
        return self.generation if self.generation and self.generation.is_open else None

    @property
    def writing(self) -> str:
        """Return what is said while text arrives."""
        if self.active and self.active.mode == Mode.IMPERSONATE:
            return gettext("Your next message is being written …")
        speaker = (self.active and self.active.speaker) or gettext("The model")
        return gettext("%(name)s is writing …") % {"name": speaker}

    @property
    def failed(self) -> Generation | None:
        """Return the generation if it has failed and the user hasn't closed the message that says so."""
        shown = self.generation and self.generation.state == State.FAILED and not self.generation.dismissed
        return self.generation if shown else None

    @property
    def written_for_user(self) -> str:
        """Return the text of an impersonation that has ended."""
        is_one = self.generation and not self.active and self.generation.mode == Mode.IMPERSONATE
        return self.generation.text if is_one and self.generation else ""

    @property
    def retry_mode(self) -> str:
        """Return the mode that repeats the failed generation. Text that it left stays, as another version.

        It is empty if the user wrote on after that text.
        """
        if self.failed is None:
            return ""
        mode = Mode.SWIPE if self.failed.mode == Mode.REPLY and self.failed.message_id else self.failed.mode
        return mode if mode in self.modes else ""

    @property
    def buttons(self) -> list[tuple[str, Words]]:
        """Return the modes with their labels, without the one that repeats a failure."""
        return [(mode, LABELS[Mode(mode)]) for mode in self.modes if mode != self.retry_mode]


def panel_of(chat: Chat) -> Panel:
    """Return the state of the replies of a chat."""
    generation = Generation.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-pk").first()
    preset_id = generation.preset_id if generation else None
    last_two = list(visible_messages(chat).order_by("-index")[:2])
    last = last_two[0] if last_two else None
    if generation and not generation.is_open and not _is_current(generation, last):
        generation = None
    speakers = list(chat.participants.select_related("character").exclude(character=None).order_by("position"))
    connected = reply_connection(chat) is not None
    modes = _modes(last, in_group=chat.is_group) if connected else []
    presets = list(list_presets(chat.owner_id)) if connected else []
    return Panel(
        chat,
        connected,
        generation,
        modes,
        speakers if len(speakers) > 1 else [],
        _is_outdated(last_two),
        presets if len(presets) > 1 else [],
        preset_id,
        next((message for message in last_two if message.is_user), None) if modes else None,
    )


def _is_current(generation: Generation, last: Message | None) -> bool:
    """Return whether the chat still ends as it did when the generation ended."""
    if last is None or last.pk == generation.message_id or last.pk < generation.pk:
        return True
    # The user wrote on while the reply was written.
    return generation.finished_at is not None and last.created_at <= generation.finished_at


def _modes(last: Message | None, *, in_group: bool) -> list[str]:
    if last is None or last.is_user:
        return [Mode.REPLY, Mode.IMPERSONATE]
    return [*([Mode.REPLY] if in_group else []), Mode.SWIPE, Mode.CONTINUE, Mode.IMPERSONATE]


def _is_outdated(last_two: list[Message]) -> bool:
    """Return whether the last reply was written before the last change of the turn that it answers."""
    if len(last_two) < 2:
        return False
    reply, turn = last_two
    return turn.is_user and not reply.is_user and turn.rev > reply.rev
