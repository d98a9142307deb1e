"""Decide what becomes of the versions of a push, and write it."""

from dataclasses import replace

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.common.problems import Invalid
from apps.instances.models import Conflict, Item
from apps.instances.operations.items import ItemWriter, keep_loser, keep_version
from apps.instances.operations.purging import without_erased
from apps.instances.operations.pushed import Overruled, PushedVersion, VersionReport
from apps.instances.operations.targets import delete_target, merged_text, write_target
from apps.instances.resolution import Contender, PushOutcome, ResolutionReason, Rule, resolve
from apps.instances.vector_clock import Order, compare, merge


def apply_pushed(writer: ItemWriter, pushed: PushedVersion, priorities: dict[str, int]) -> VersionReport:
    """Decide what becomes of a pushed version, do it, and report it."""
    item = _find(writer, pushed)
    # A clock of a machine that runs fast must not win over later writes.
    at = min(pushed.version.at, timezone.now())
    theirs = replace(pushed.version, at=at, priority=priorities[pushed.version.instance])
    if item is None:
        return _store_new(writer, pushed, theirs)
    _check_period(item, pushed)
    kept = _without_erased(item, theirs)
    if kept is None:
        return _refuse(writer, item, theirs)
    decision = resolve(_stored(item, priorities), kept, _rule_of(item))
    if decision.action == PushOutcome.ADOPT:
        return _adopt(writer, item, pushed, kept, decision.reason)
    if decision.action == PushOutcome.MERGE:
        return _merge(writer, item, kept)
    if decision.action == PushOutcome.KEEP_BOTH:
        return _keep_both(writer, item, kept)
    return _keep(writer, item, kept, decision.reason)


def _without_erased(item: Item, theirs: Contender) -> Contender | None:
    """Return the version without what was erased of its item before the instance knew it; None if nothing is left."""
    if theirs.text is None or compare(theirs.clock, item.clock) == Order.AFTER:
        return theirs
    text = without_erased(item, theirs.text)
    return None if theirs.text.strip() and not text.strip() else replace(theirs, text=text)


def _check_period(item: Item, pushed: PushedVersion) -> None:
    """Raise Invalid if a pushed version has the id of a memory of another tier or period."""
    given = {name: pushed.key[name] for name in ("tier", "period") if name in pushed.key}
    if item.tier and any(getattr(item, name) != value for name, value in given.items()):
        stored = f"{item.tier} {item.period}".strip()
        raise Invalid.at(f"{pushed.pointer}/id", f"It is the id of what is stored as {stored}.")


def _find(writer: ItemWriter, pushed: PushedVersion) -> Item | None:
    """Return the item of a pushed version: a day's, week's, month's or year's by its period, another by its id."""
    items = Item.objects.for_owner(writer.owner_id).filter(kind=pushed.kind)
    if pushed.kind == Item.Kind.IDENTITY:
        return items.filter(**pushed.key).first()
    period = {name: value for name, value in pushed.key.items() if name != "target"}
    by_period = items.filter(**period).first() if pushed.key.get("period") and period["tier"] != "significant" else None
    return by_period or items.filter(target=pushed.key["target"]).first()


def _stored(item: Item, priorities: dict[str, int]) -> Contender:
    text = None if item.deleted_at else item.text
    return Contender(text, item.clock, item.instance, item.changed_at, priorities.get(item.instance, 0))


def _rule_of(item: Item) -> Rule:
    if item.kind == Item.Kind.IDENTITY:
        return Rule.LAST_WRITE
    return Rule.BULLETS if item.tier == "daily" else Rule.BOTH


def _store_new(writer: ItemWriter, pushed: PushedVersion, theirs: Contender) -> VersionReport:
    item = Item(owner_id=writer.owner_id, kind=pushed.kind, **pushed.full_key)
    _write(writer, item, pushed, theirs)
    return VersionReport(applied=True)


def _refuse(writer: ItemWriter, item: Item, theirs: Contender) -> VersionReport:
    """Keep nothing of a text that was erased, and report it once."""
    is_new = _merge_clock(writer, item, theirs)
    return VersionReport(overruled=Overruled(item.name, item.instance, ResolutionReason.DELETED) if is_new else None)


def _adopt(
    writer: ItemWriter, item: Item, pushed: PushedVersion, theirs: Contender, reason: ResolutionReason | None
) -> VersionReport:
    """Let the pushed version replace the stored one, which is reported if it has lost for a reason."""
    if theirs.text != item.text:
        keep_version(item)
    for name, value in pushed.full_key.items():
        if name != "target" and not getattr(item, name):  # of a tombstone that came before its memory
            setattr(item, name, value)
    _write(writer, item, pushed, theirs)
    return VersionReport(applied=True, overruled=Overruled(item.name, theirs.instance, reason) if reason else None)


def _write(writer: ItemWriter, item: Item, pushed: PushedVersion, theirs: Contender) -> None:
    """Give an item the pushed version, and write it to its memory or journal entry. Raise Invalid for a taken id."""
    instances = {*item.participating_instances, *pushed.participating, theirs.instance}
    item.participating_instances = sorted(instances) if pushed.kind == Item.Kind.MEMORY else []
    item.clock, item.instance, item.changed_at = merge(item.clock, theirs.clock), theirs.instance, theirs.at
    try:
        with transaction.atomic():  # so that the owner's other queries still work after a taken id
            if theirs.text is None:
                delete_target(item)
                item.deleted_at = item.deleted_at or timezone.now()
            else:
                item.target = write_target(item, theirs.text, editor=theirs.instance, chat=pushed.chat)
                item.text, item.deleted_at = theirs.text, None
            writer.save(item)
    except IntegrityError:
        raise Invalid.at(f"{pushed.pointer}/id", "This id is taken.") from None


def _merge(writer: ItemWriter, item: Item, theirs: Contender) -> VersionReport:
    """Give the stored version the bullets of the pushed one."""
    text = merged_text(item, theirs.text or "")
    if text != theirs.text:
        keep_loser(item, theirs)
    if text != item.text:
        keep_version(item)
    item.clock = merge(item.clock, theirs.clock)
    item.participating_instances = sorted({*item.participating_instances, theirs.instance})
    item.target, item.text = write_target(item, text, editor=theirs.instance), text
    writer.save(item)
    return VersionReport(merged=True, overruled=Overruled(item.name, item.instance, ResolutionReason.MERGED_BULLETS))


def _keep_both(writer: ItemWriter, item: Item, theirs: Contender) -> VersionReport:
    """Store a conflict, and report it, unless the same text is in one already."""
    overruled = None
    conflicts = Conflict.objects.for_owner(item.owner_id)
    if not conflicts.filter(item=item, theirs=theirs.text, their_clock=theirs.clock).exists():
        conflict = conflicts.create(
            owner_id=item.owner_id,
            item=item,
            ours=item.text,
            our_instance=item.instance,
            our_clock=item.clock,
            theirs=theirs.text or "",
            their_instance=theirs.instance,
            their_clock=theirs.clock,
        )
        overruled = Overruled(item.name, item.instance, ResolutionReason.KEPT_BOTH, conflict.pk)
    _merge_clock(writer, item, theirs)
    return VersionReport(overruled=overruled)


def _keep(writer: ItemWriter, item: Item, theirs: Contender, reason: ResolutionReason | None) -> VersionReport:
    """Keep the stored version. Report it if the pushed one has lost for a reason and tells anything new."""
    has_changed = _merge_clock(writer, item, theirs)
    if reason is None:
        return VersionReport()
    is_new = has_changed if theirs.text is None else keep_loser(item, theirs)
    return VersionReport(overruled=Overruled(item.name, item.instance, reason) if is_new else None)


def _merge_clock(writer: ItemWriter, item: Item, theirs: Contender) -> bool:
    """Merge the clocks. Return whether that has changed the item's."""
    clock = merge(item.clock, theirs.clock)
    if clock == item.clock:
        return False
    item.clock = clock
    writer.save(item)
    return True
