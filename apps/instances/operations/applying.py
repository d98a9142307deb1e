"""Decide what becomes of the entries of a push, and write it."""

from dataclasses import replace

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.common.problems import Invalid
from apps.instances.models import Conflict, Item, ItemVersion
from apps.instances.operations.entries import EntryReport, Overruled, PushedVersion
from apps.instances.operations.items import ItemWriter, keep_loser, keep_version
from apps.instances.operations.purging import without_erased
from apps.instances.operations.targets import delete_target, merged_text, write_target
from apps.instances.resolution import Contender, PushOutcome, ResolutionReason, Rule, resolve
from apps.instances.vector_clock import Order, compare, merge


def apply_entry(writer: ItemWriter, entry: PushedVersion, priorities: dict[str, int]) -> EntryReport:
    """Decide what becomes of an entry, do it, and report it."""
    item = _find(writer, entry)
    # A clock of a machine that runs fast must not win over later writes.
    at = min(entry.version.at, timezone.now())
    pushed = replace(entry.version, at=at, priority=priorities[entry.version.instance])
    if item is None:
        return _store_new(writer, entry, pushed)
    _check_names(item, entry)
    kept = _without_erased(item, pushed)
    if kept is None:
        return _refuse(writer, item, pushed)
    decision = resolve(_stored(item, priorities), kept, _rule_of(item))
    if decision.action == PushOutcome.ADOPT:
        return _adopt(writer, item, entry, kept, decision.reason)
    if decision.action == PushOutcome.MERGE:
        return _merge(writer, item, kept)
    if decision.action == PushOutcome.KEEP_BOTH:
        return _keep_both(writer, item, kept)
    return _keep(writer, item, kept, decision.reason)


def _without_erased(item: Item, pushed: Contender) -> Contender | None:
    """Return the version without what was erased of its item before the instance knew it; None if nothing is left."""
    if pushed.text is None or compare(pushed.clock, item.clock) == Order.AFTER:
        return pushed
    text = without_erased(item, pushed.text)
    return None if pushed.text.strip() and not text.strip() else replace(pushed, text=text)


def _check_names(item: Item, entry: PushedVersion) -> None:
    """Raise Invalid if an entry has the id of a memory of another tier or period."""
    names = {name: entry.key[name] for name in ("tier", "period") if name in entry.key}
    if item.tier and any(getattr(item, name) != value for name, value in names.items()):
        raise Invalid.at(f"{entry.pointer}/id", f"It is the id of what is stored as {item.tier} {item.period}.".strip())


def _find(writer: ItemWriter, entry: PushedVersion) -> Item | None:
    """Return the item that an entry names: a day's, week's, month's or year's by its period, another by its id."""
    items = Item.objects.for_owner(writer.owner_id).filter(kind=entry.kind)
    if entry.kind == Item.Kind.IDENTITY:
        return items.filter(**entry.key).first()
    period = {name: value for name, value in entry.key.items() if name != "target"}
    by_period = items.filter(**period).first() if entry.key.get("period") and period["tier"] != "significant" else None
    return by_period or items.filter(target=entry.key["target"]).first()


def _stored(item: Item, priorities: dict[str, int]) -> Contender:
    text = None if item.deleted_at else item.text
    return Contender(text, item.clock, item.instance, item.changed_at, priorities.get(item.instance, 0))


def _rule_of(item: Item) -> Rule:
    if item.kind == Item.Kind.IDENTITY:
        return Rule.LAST_WRITE
    return Rule.BULLETS if item.tier == "daily" else Rule.BOTH


def _store_new(writer: ItemWriter, entry: PushedVersion, pushed: Contender) -> EntryReport:
    item = Item(owner_id=writer.owner_id, kind=entry.kind, **entry.names)
    _write(writer, item, entry, pushed)
    return EntryReport(applied=True)


def _refuse(writer: ItemWriter, item: Item, pushed: Contender) -> EntryReport:
    """Keep nothing of a text that was erased, and report it once."""
    is_new = _merge_clock(writer, item, pushed)
    return EntryReport(overruled=Overruled(item.name, item.instance, ResolutionReason.DELETED) if is_new else None)


def _adopt(
    writer: ItemWriter, item: Item, entry: PushedVersion, pushed: Contender, reason: ResolutionReason | None
) -> EntryReport:
    """Let the pushed version replace the stored one, which is reported if it has lost for a reason."""
    if pushed.text != item.text:
        keep_version(item)
    for name, value in entry.names.items():
        if name != "target" and not getattr(item, name):  # of a tombstone that came before its memory
            setattr(item, name, value)
    _write(writer, item, entry, pushed)
    return EntryReport(applied=True, overruled=Overruled(item.name, pushed.instance, reason) if reason else None)


def _write(writer: ItemWriter, item: Item, entry: PushedVersion, pushed: Contender) -> None:
    """Give an item the pushed version, and write it to its memory or journal entry. Raise Invalid for a taken id."""
    names = {*item.participating_instances, *entry.participating, pushed.instance}
    item.participating_instances = sorted(names) if entry.kind == Item.Kind.MEMORY else []
    item.clock, item.instance, item.changed_at = merge(item.clock, pushed.clock), pushed.instance, pushed.at
    try:
        with transaction.atomic():  # so that the owner's other queries still work after a taken id
            if pushed.text is None:
                delete_target(item)
            else:
                write_target(item, pushed.text, editor=pushed.instance, chat=entry.chat)
            writer.save(item)
    except IntegrityError:
        raise Invalid.at(f"{entry.pointer}/id", "This id is taken.") from None


def _merge(writer: ItemWriter, item: Item, pushed: Contender) -> EntryReport:
    """Give the stored version the bullets of the pushed one."""
    text = merged_text(item, pushed.text or "")
    if text != pushed.text:
        keep_loser(item, _as_version(pushed))
    if text != item.text:
        keep_version(item)
    item.clock = merge(item.clock, pushed.clock)
    item.participating_instances = sorted({*item.participating_instances, pushed.instance})
    write_target(item, text, editor=pushed.instance)
    writer.save(item)
    return EntryReport(merged=True, overruled=Overruled(item.name, item.instance, ResolutionReason.MERGED_BULLETS))


def _keep_both(writer: ItemWriter, item: Item, pushed: Contender) -> EntryReport:
    """Store a conflict, and report it, unless the same text is in one already."""
    overruled = None
    conflicts = Conflict.objects.for_owner(item.owner_id)
    if not conflicts.filter(item=item, theirs=pushed.text, their_clock=pushed.clock).exists():
        conflict = conflicts.create(
            owner_id=item.owner_id,
            item=item,
            ours=item.text,
            our_instance=item.instance,
            our_clock=item.clock,
            theirs=pushed.text or "",
            their_instance=pushed.instance,
            their_clock=pushed.clock,
        )
        overruled = Overruled(item.name, item.instance, ResolutionReason.KEPT_BOTH, conflict.pk)
    _merge_clock(writer, item, pushed)
    return EntryReport(overruled=overruled)


def _keep(writer: ItemWriter, item: Item, pushed: Contender, reason: ResolutionReason | None) -> EntryReport:
    """Keep the stored version. Report it if the pushed one has lost for a reason and tells anything new."""
    has_changed = _merge_clock(writer, item, pushed)
    if reason is None:
        return EntryReport()
    is_new = has_changed if pushed.text is None else keep_loser(item, _as_version(pushed))
    return EntryReport(overruled=Overruled(item.name, item.instance, reason) if is_new else None)


def _merge_clock(writer: ItemWriter, item: Item, pushed: Contender) -> bool:
    """Merge the clocks. Return whether that has changed the item's."""
    clock = merge(item.clock, pushed.clock)
    if clock == item.clock:
        return False
    item.clock = clock
    writer.save(item)
    return True


def _as_version(pushed: Contender) -> ItemVersion:
    return ItemVersion(text=pushed.text or "", clock=dict(pushed.clock), instance=pushed.instance, changed_at=pushed.at)
