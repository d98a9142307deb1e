// Edits brought onto a newer state of a chat.
import { mergeText } from "./text.js";
import { patchAt, mergePatch, same, valueAt } from "./documents.js";
import { activeSwipe, currentOf, edited, locateSwipe, textOf } from "./messages.js";

/**
 * What a rebase makes of one edit: still to be sent, no longer needed, or in need of a person.
 * @typedef {{verdict: "keep" | "done" | "conflict", change?: object}} Outcome
 */
/** @type {Outcome} */
const KEEP = { verdict: "keep" };
/** @type {Outcome} */
const DONE = { verdict: "done" };

/**
 * @param {object[]} edits in their order; those kept are changed in place
 * @param {{touched: Map<string, object>, deleted: Set<string>, metadata: object | null,
 *   survivor?: (id: string, deleted: Set<string>) => string | null | undefined}} delta
 *   metadata: or the settings, as they are now, or null where they weren't written
 * @returns {{done: object[], conflicts: object[]}}
 */
export function rebase(edits, delta) {
  const now = { ...delta, touched: new Map(delta.touched), leaving: new Set() };
  const [done, conflicts] = [[], []];
  for (const edit of edits) {
    const { verdict, change } = outcome(edit, now);
    Object.assign(edit, change);
    if (verdict === "done") done.push(edit);
    else if (verdict === "conflict") conflicts.push(edit);
    else if (edit.state === "waiting") advance(now, edit);
  }
  return { done, conflicts };
}

/** Whether an edit is of the metadata or the settings, which are one document each. */
export const isOfDocument = ({ type }) => type === "metadata" || type === "setting";

const VALUES = new Set(["field", "extra", "data", "metadata", "setting"]);

/** Whether the later of two edits replaces what the earlier one wrote. */
export const samePlace = (a, b) => VALUES.has(a.type) && a.type === b.type && a.id === b.id && a.field === b.field
  && a.swipe === b.swipe && same(a.path, b.path);

/** Whether an edit gives the swipes of its message other positions. */
export const movesSwipes = ({ type }) => type === "delete_swipe" || type === "swipe_order";

/** The metadata or the settings with an edit in them. @param {any} document @param {import("./edits.js").Edit} edit */
export const withEdit = (document, { path, value }) => mergePatch(document, patchAt(path, value));

/** Later edits were made on top of this one. */
function advance(now, edit) {
  if (edit.type === "delete") now.leaving.add(edit.id);
  if (isOfDocument(edit) && now.metadata) now.metadata = withEdit(now.metadata, edit);
  const message = now.touched.get(edit.id);
  if (message) now.touched.set(edit.id, edited(message, edit));
}

/** @returns {Outcome} */
function outcome(edit, now) {
  if (edit.type === "append") return KEEP;
  if (isOfDocument(edit)) return now.metadata ? merged(edit, valueAt(now.metadata, edit.path)) : KEEP;
  const message = now.touched.get(edit.id);
  if (!message && now.deleted.has(edit.id)) return onDeleted(edit);
  const change = reanchored(edit, now);
  // Its place is neither known nor to be guessed.
  if (change.before === undefined && "before" in change) return lost(edit);
  return message ? withChange(onMessage(edit, message), change) : { verdict: "keep", change };
}

/** What the edit belongs to is gone. @returns {Outcome} */
const lost = ({ state }) => ({ verdict: state === "conflict" ? "keep" : "conflict", change: { theirs: null, gone: true } });

/** @param {Outcome} outcome @param {object} more @returns {Outcome} */
const withChange = ({ verdict, change }, more) => ({ verdict, change: { ...change, ...more } });

/**
 * Where what an insert or a move stands before is gone, it stands before what came after that and stays.
 * @returns {{before?: string | null}} undefined: what came after that isn't known
 */
function reanchored(edit, now) {
  if (!edit.before || !now.deleted.has(edit.before) || now.touched.has(edit.before)) return {};
  return { before: now.survivor(edit.before, new Set([...now.deleted, ...now.leaving])) };
}

/** @returns {Outcome} */
function onDeleted(edit) {
  const writes = ["field", "extra", "data", "add_swipe"].includes(edit.type);
  return writes || edit.state === "conflict" ? lost(edit) : DONE;
}

/** @returns {Outcome} */
function onMessage(edit, message) {
  switch (edit.type) {
    case "field":
    case "extra":
    case "data": return onValue(edit, message);
    case "delete": return onDelete(edit, message);
    case "swipe_id":
    case "delete_swipe": return onSwipe(edit, message);
    case "swipe_order": return onOrder(edit, message);
    default: return KEEP;
  }
}

/** @returns {Outcome} */
function onValue(edit, message) {
  // Of two values, the one that isn't mine is the one that I changed.
  if (edit.field === "is_system") return same(message.is_system, edit.value) ? DONE : KEEP;
  if (edit.type === "field" && edit.field !== "mes") return merged(edit, message[edit.field] ?? null);
  const swipe = locateSwipe(message, edit.swipe, edit.text);
  if (swipe === null) return { verdict: "conflict", change: { theirs: null, gone: true } };
  const place = { swipe, active: activeSwipe(message), text: textOf(message, swipe) };
  return withChange(merged(edit, currentOf(message, { ...edit, swipe })), place);
}

/** @returns {Outcome} of a value that is `theirs` now; `base` undefined: what it was before isn't known */
function merged(edit, theirs) {
  if (same(theirs, edit.value)) return DONE;
  if (edit.state === "conflict") return { verdict: "keep", change: { theirs, gone: false } };
  if (edit.base !== undefined && same(theirs, edit.base)) return KEEP;
  const texts = [edit.base, edit.value, theirs].every((value) => typeof value === "string");
  const value = texts ? mergeText(edit.base, edit.value, theirs) : null;
  if (value === null) return { verdict: "conflict", change: { theirs, gone: false } };
  return value === theirs ? DONE : { verdict: "keep", change: { base: theirs, value } };
}

/** A text that somebody changed is not deleted unseen. @returns {Outcome} */
function onDelete(edit, message) {
  const unseen = message.swipes.find((text) => !edit.texts.includes(text));
  if (edit.base === undefined || unseen === undefined) return KEEP;
  return { verdict: edit.state === "conflict" ? "keep" : "conflict", change: { theirs: unseen } };
}

/** @returns {Outcome} */
function onSwipe(edit, message) {
  const place = locateSwipe(message, edit.value, edit.text);
  if (edit.type === "delete_swipe" && message.swipes.length === 1) return DONE; // the last one stays
  if (place === null || (edit.text !== null && message.swipes[place] !== edit.text && edit.type === "delete_swipe")) return DONE;
  if (edit.type === "swipe_id" && message.swipe_id === place) return DONE;
  return { verdict: "keep", change: { value: place } };
}

/** @returns {Outcome} */
function onOrder(edit, message) {
  const wanted = edit.texts.map((text, n) => locateSwipe(message, n, text));
  const order = [...new Set(edit.value.map((n) => wanted[n]).filter((place) => place !== null && place !== undefined))];
  message.swipes.forEach((_, n) => { if (!order.includes(n)) order.push(n); });
  if (order.every((place, n) => place === n)) return DONE;
  return { verdict: "keep", change: { value: order, texts: message.swipes } };
}
