"""Request, receive, restore and delete snapshots, and make those that nobody asked for."""

from typing import Any, BinaryIO, cast
from uuid import UUID

from django.conf import settings
from django.core.files import File
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext

from apps.accounts.models import User
from apps.chats.locking import lock_chat
from apps.chats.models import Chat
from apps.common import jobs
from apps.common.database.rows import first_or_missing
from apps.common.problems import Conflict, TooLarge
from apps.common.scoping import Owner, owner_id_of, system_scope
from apps.memories.models import Memory
from apps.snapshots.archives import Archive
from apps.snapshots.models import Restore, Snapshot
from apps.snapshots.storing import discard, store_archive, store_snapshot
from apps.snapshots.tables import SnapshotScope

MAX_SNAPSHOTS = 50  # of an owner, made by hand or uploaded


def access_snapshot(owner: Owner, snapshot_id: UUID) -> Snapshot:
    """Return the owner's snapshot. Raise Missing."""
    return first_or_missing(
        Snapshot.objects.for_owner(owner).filter(pk=snapshot_id), gettext("There is no such snapshot.")
    )


def scope_of(snapshot: Snapshot) -> SnapshotScope:
    """Return what a snapshot is of."""
    return SnapshotScope(snapshot.kind, snapshot.owner_id, snapshot.chat_id)


def take_chat_snapshot(owner: Owner, chat: Chat) -> Snapshot:
    """Store a snapshot of a chat as it is now, made by hand. Raise Missing, and Conflict if there are MAX_SNAPSHOTS."""
    with transaction.atomic():
        lock_chat(owner, chat.pk)
        jobs.lock_owner(owner)
        _check_number(owner)
        return store_snapshot(SnapshotScope(Snapshot.Kind.CHAT, chat.owner_id, chat.pk), Snapshot.Reason.MANUAL)


def create_snapshot(owner: Owner, reason: str = Snapshot.Reason.MANUAL, moment: str = "") -> tuple[Snapshot, bool]:
    """Return a job that makes a snapshot of the account, and whether it was created, or is one that is under way.

    It holds what ``moment`` shows, the name of a ``Moment``. Raise Conflict if the owner has MAX_SNAPSHOTS.
    """
    with transaction.atomic():
        jobs.lock_owner(owner)
        same = Snapshot.objects.for_owner(owner).filter(kind=Snapshot.Kind.ACCOUNT, reason=reason)
        if found := same.open().first():
            return found, False
        if reason == Snapshot.Reason.MANUAL:
            _check_number(owner)
        fields = {"kind": Snapshot.Kind.ACCOUNT, "reason": reason, "moment": moment}
        return Snapshot.objects.create(owner_id=owner_id_of(owner), **fields), True


def receive_snapshot(owner: Owner, upload: UploadedFile) -> Snapshot:
    """Store an archive that was downloaded before. Raise TooLarge, DamagedArchive, and Conflict as ``create_snapshot``.

    The file is read whole, and compared with its checksums.
    """
    if (upload.size or 0) > settings.SNAPSHOT_MAX_BYTES:
        raise TooLarge(
            gettext("The file is larger than %(snapshot_max_bytes)s bytes.")
            % {"snapshot_max_bytes": settings.SNAPSHOT_MAX_BYTES}
        )
    archive = Archive(cast(BinaryIO, upload))
    archive.check()
    upload.seek(0)
    with transaction.atomic():
        jobs.lock_owner(owner)
        _check_number(owner)
        scope = SnapshotScope(archive.manifest.kind, owner_id_of(owner), archive.manifest.chat)
        return store_archive(scope, archive.manifest, Snapshot.Reason.UPLOADED, File(upload))


def _check_number(owner: Owner) -> None:
    rows = Snapshot.objects.for_owner(owner)
    rows = rows.filter(reason__in=(Snapshot.Reason.MANUAL, Snapshot.Reason.UPLOADED)).exclude(state="failed")
    if rows.count() >= MAX_SNAPSHOTS:
        raise Conflict(
            gettext("You have %(max_snapshots)s snapshots. Delete one that you don't need.")
            % {"max_snapshots": MAX_SNAPSHOTS}
        )


def create_restore(snapshot: Snapshot) -> Restore:
    """Create the job that restores a snapshot. Raise Conflict if it isn't made, or if another restore is under way."""
    with transaction.atomic():
        jobs.lock_owner(snapshot.owner_id)
        snapshot = access_snapshot(snapshot.owner_id, snapshot.pk)
        if snapshot.state != Snapshot.State.SUCCEEDED:
            raise Conflict(gettext("This snapshot is not complete, so that it can't be restored."))
        if Restore.objects.for_owner(snapshot.owner_id).open().exists():
            raise Conflict(gettext("Another snapshot is being restored. Wait until that is done."))
        total = sum(snapshot.counts.values())
        return Restore.objects.create(owner_id=snapshot.owner_id, snapshot=snapshot, total=total)


def delete_snapshot(snapshot: Snapshot) -> None:
    """Delete a snapshot and its file. Raise Conflict while it is being restored."""
    with transaction.atomic():
        jobs.lock_owner(snapshot.owner_id)
        if snapshot.restores.open().exists():
            raise Conflict(gettext("This snapshot is being restored. Wait until that is done."))
        discard(Snapshot.objects.for_owner(snapshot.owner_id).filter(pk=snapshot.pk))


def snapshot_before_forced_write(chat: Chat, **kwargs: Any) -> None:
    """Receive ``before_forced_write``: store the current state of the locked chat, which the write may overwrite."""
    store_snapshot(SnapshotScope(Snapshot.Kind.CHAT, chat.owner_id, chat.pk), Snapshot.Reason.FORCED)


def snapshot_before_forced_settings_write(owner_id: UUID, **kwargs: Any) -> None:
    """Receive ``before_forced_settings_write``: store the current settings, which the write may overwrite."""
    store_snapshot(SnapshotScope(Snapshot.Kind.SETTINGS, owner_id), Snapshot.Reason.FORCED)


def delete_snapshots(owner_id: UUID, **kwargs: Any) -> None:
    """Receive ``account_deleting``: delete all snapshots of the account."""
    discard(Snapshot.objects.for_owner(owner_id))


def delete_automatic_snapshots(chat: Chat, **kwargs: Any) -> None:
    """Receive ``chat_purged``: delete the snapshots of the chat that its owner has not made."""
    reasons = (Snapshot.Reason.FORCED, Snapshot.Reason.RESTORE)
    discard(Snapshot.objects.for_owner(chat.owner_id).filter(chat_id=chat.pk, reason__in=reasons))


def owners_with_changes() -> list[UUID]:
    """Return the active users who changed something since their last daily snapshot."""
    with system_scope():
        daily = Snapshot.objects.filter(owner=OuterRef("pk"), reason=Snapshot.Reason.DAILY).exclude(state="failed")
        latest = daily.order_by("-created_at").values("created_at")[:1]
        users = User.objects.filter(is_active=True).annotate(latest=latest)
        never = Q(latest=None)
        chats = Chat._base_manager.filter(owner=OuterRef("pk"))
        memories = Memory._base_manager.filter(owner=OuterRef("pk"))
        changed = Q(Exists(chats.filter(updated_at__gt=OuterRef("latest"))))
        changed |= Q(Exists(memories.filter(updated_at__gt=OuterRef("latest"))))
        return list(users.filter((never & Exists(chats)) | changed).values_list("pk", flat=True))
