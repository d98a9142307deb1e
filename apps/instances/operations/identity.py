"""Write and delete identity files as Loci itself."""

from django.db import transaction
from django.utils import timezone

from apps.common import jobs
from apps.common.scoping import Owner, owner_id_of
from apps.instances.models import Item
from apps.instances.operations.items import ItemWriter, keep_version


@transaction.atomic
def write_file(owner: Owner, category: str, filename: str, content: str) -> Item:
    """Create an identity file or change its content; the one before is kept as a version."""
    jobs.lock_owner(owner)
    files = Item.objects.for_owner(owner).identity()
    file = files.filter(category=category, filename=filename).first() or Item(
        owner_id=owner_id_of(owner), kind=Item.Kind.IDENTITY, category=category, filename=filename
    )
    if file._state.adding or file.deleted_at or file.text != content:
        if not file._state.adding:
            keep_version(file)
        file.text, file.deleted_at = content, None
        ItemWriter(owner).save_as_loci(file, timezone.now())
    return file


@transaction.atomic
def delete_file(owner: Owner, file: Item) -> None:
    """Make an identity file a tombstone. Its content is kept as a version."""
    jobs.lock_owner(owner)
    file.refresh_from_db()
    if file.deleted_at is None:
        keep_version(file)
        file.deleted_at = now = timezone.now()
        ItemWriter(owner).save_as_loci(file, now)
