"""Decide what becomes of the entries of a push, and write it."""

from dataclasses import replace

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.common.problems import Invalid
from apps.instances.models import Conflict, Item, ItemVersion
from apps.instances.operations.entries import Overruled, Pushed, PushedVersion
from apps.instances.operations.items import ItemWriter, keep_loser, keep_version
from apps.instances.operations.purging import without_erased
from apps.instances.operations.targets import delete_target, merged_text, write_target
from apps.instances.resolution import Decision, PushOutcome, ResolutionReason, Rule, Version, resolve
from apps.instances.vector_clock import Order, compare, merge


def apply_entry(writer: ItemWriter, entry: PushedVersion, priorities: dict[str, int], result: Pushed) -> None:
    """Decide what becomes of an entry, do it, and add it to the result."""
    item = _find(writer, entry)
    # A clock of a machine that runs fast must not win over later writes.
    at = min(entry.version.at, timezone.now())
    pushed = replace(entry.version, at=at, priority=priorities[entry.version.instance])
    if item is None:
        _store_new(writer, entry, pushed)
        result.applied += 1
        return
    _check_names(item, entry)
    if pushed.text is not None and compare(pushed.clock, item.clock) != Order.AFTER:
        text = without_erased(item, pushed.text)
        if pushed.text.strip() and not text.strip():
            _refuse(writer, item, pushed, result)
            return
        pushed = replace(pushed, text=text)
    decision = resolve(_stored(item, priorities), pushed, _rule_of(item))
    winner = pushed.instance if decision.action == PushOutcome.ADOPT else item.instance
    report, is_new = decision.reason, True
    conflict = None
    if decision.action == PushOutcome.ADOPT:
        _adopt(writer, item, entry, pushed)
        result.applied += 1
    elif decision.action == PushOutcome.MERGE:
        _merge(writer, item, pushed)
        result.merged += 1
    elif decision.action == PushOutcome.KEEP_BOTH:
        conflict = _keep_both(writer, item, pushed)
        is_new = conflict is not None
    else:
        is_new = _keep(writer, item, pushed, decision)
    if report and is_new:
        result.conflicts.append(Overruled(item.name, winner, report, conflict.pk if conflict else None))


def _refuse(writer: ItemWriter, item: Item, pushed: Version, result: Pushed) -> None:
    """Keep nothing of a text that was erased, and report it once."""
    if _merge_clock(writer, item, pushed):
        result.conflicts.append(Overruled(item.name, item.instance, ResolutionReason.DELETED))


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


def _stored(item: Item, priorities: dict[str, int]) -> Version:
    text = None if item.deleted_at else item.text
    return Version(text, item.clock, item.instance, item.changed_at, priorities.get(item.instance, 0))


def _rule_of(item: Item) -> Rule:
    if item.kind == Item.Kind.IDENTITY:
        return Rule.LAST_WRITE
    return Rule.BULLETS if item.tier == "daily" else Rule.BOTH


def _store_new(writer: ItemWriter, entry: PushedVersion, pushed: Version) -> None:
    item = Item(owner_id=writer.owner_id, kind=entry.kind, **entry.names)
    _write(writer, item, entry, pushed)


def _adopt(writer: ItemWriter, item: Item, entry: PushedVersion, pushed: Version) -> None:
    if pushed.text != item.text:
        keep_version(item)
    for name, value in entry.names.items():
        if name != "target" and not getattr(item, name):  # of a tombstone that came before its memory
            setattr(item, name, value)
    _write(writer, item, entry, pushed)


def _write(writer: ItemWriter, item: Item, entry: PushedVersion, pushed: Version) -> None:
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


def _merge(writer: ItemWriter, item: Item, pushed: Version) -> None:
    text = merged_text(item, pushed.text or "")
    if text != pushed.text:
        keep_loser(item, _as_version(pushed))
    if text != item.text:
        keep_version(item)
    item.clock = merge(item.clock, pushed.clock)
    item.participating_instances = sorted({*item.participating_instances, pushed.instance})
    write_target(item, text, editor=pushed.instance)
    writer.save(item)


def _keep_both(writer: ItemWriter, item: Item, pushed: Version) -> Conflict | None:
    """Store a conflict, unless the same text is in one already; then return None."""
    conflicts = Conflict.objects.for_owner(item.owner_id)
    conflict = None
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
    _merge_clock(writer, item, pushed)
    return conflict


def _keep(writer: ItemWriter, item: Item, pushed: Version, decision: Decision) -> bool:
    """Keep the stored version. Return whether the push has told anything new."""
    has_changed = _merge_clock(writer, item, pushed)
    if pushed.text is None or decision.reason is None:
        return has_changed
    return keep_loser(item, _as_version(pushed))


def _merge_clock(writer: ItemWriter, item: Item, pushed: Version) -> bool:
    """Merge the clocks. Return whether that has changed the item's."""
    clock = merge(item.clock, pushed.clock)
    if clock == item.clock:
        return False
    item.clock = clock
    writer.save(item)
    return True


def _as_version(pushed: Version) -> ItemVersion:
    return ItemVersion(text=pushed.text or "", clock=dict(pushed.clock), instance=pushed.instance, changed_at=pushed.at)
