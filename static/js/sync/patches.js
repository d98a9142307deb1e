// Edits as patches of the wire protocol, as few and as small as they can be.
import { patchAt, related } from "./documents.js";
import { edited } from "./messages.js";
import { isOfDocument } from "./rebase.js";
import { spliceBetween } from "./text.js";

const BATCH = 100; // patches in one request
const ALONE = new Set(["append", "insert", "add_swipe", "move"]);
const size = (value) => new TextEncoder().encode(JSON.stringify(value)).length;

/** Whether an edit is a request of its own: it needs a key that stays, or the places that its forerunners leave. */
const isAlone = (edit) => ALONE.has(edit.type) || edit.alone;

/**
 * The first of `edits` that go into one request.
 * @param {object[]} edits waiting, in their order @returns {object[]}
 */
export function firstBatch(edits) {
  const [first] = edits;
  if (isAlone(first)) return [first];
  const kind = isOfDocument(first);
  const batch = [];
  for (const edit of edits.slice(0, BATCH)) {
    if (isAlone(edit) || isOfDocument(edit) !== kind || (kind && crosses(batch, edit))) break;
    batch.push(edit);
  }
  return batch;
}

/** Whether a merge patch of both would not do what the two do one after the other. */
const crosses = (batch, edit) =>
  batch.some(({ path }) => path.length !== edit.path.length && related(path, edit.path));

/** The merge patch of edits with paths. */
export const mergePatchOf = (edits) => edits.reduce((patch, { path, value }) => joined(patch, path, value), {});

/** A patch with one more place written; nulls stay. */
/** @param {object} patch @param {string[]} path @param {any} value */
function joined(patch, [key, ...rest], value) {
  const inner = Object.hasOwn(patch, key) ? patch[key] : {};
  const entry = [key, rest.length ? joined(inner, rest, value) : value];
  return Object.fromEntries([...Object.entries(patch).filter(([other]) => other !== key), entry]);
}

/**
 * The patches of a batch. Each edit notes in `patch` which of them is its own, so that a refusal can be told of.
 * @param {object[]} edits @param {(edit: object) => number} placeOf the index that a move leads to
 * @param {(id: string) => object | undefined} known a message as the server has it
 * @returns {object[]}
 */
export function patchesOf(edits, placeOf, known) {
  const patches = [];
  const messages = new Map();
  for (const edit of edits) {
    const message = messages.get(edit.id) ?? known(edit.id);
    if (message) messages.set(edit.id, edited(message, edit));
    const parts = partsOf(edit, placeOf, message);
    const last = patches.at(-1);
    if (parts.length === 1 && last && goTogether(last, parts[0])) patches[patches.length - 1] = together(last, parts[0]);
    else patches.push(...parts);
    edit.patch = patches.length - (parts.length > 1 ? 2 : 1);
  }
  return patches;
}

/** @param {object} [message] that the edit is of, with the edits before it; undefined where it isn't known */
function partsOf(edit, placeOf, message) {
  const { id, type, value } = edit;
  switch (type) {
    case "field":
    case "extra": return onSwipe(edit, valuePart(edit), message);
    case "data": return onSwipe(edit, { data: dataPart(edit) }, message);
    case "delete": return [{ id, delete: true }];
    case "insert": return [{ id: edit.before, insert_before: value }];
    case "move": return [{ id, move_to: placeOf(edit) }];
    default: return [{ id, [type]: value }];
  }
}

function valuePart({ type, field, path, base, value }) {
  if (type === "extra") return { extra: patchAt(path, value) };
  const whole = { set: { [field]: value } };
  if (field !== "mes" || typeof base !== "string") return whole;
  const part = { splice: spliceBetween(base, value) };
  return size(part) < size(whole) ? part : whole;
}

function dataPart({ path: [namespace, key], value }) {
  return value.length ? { namespace, values: { [key]: value[0] } } : { namespace, clear: [key] };
}

/**
 * A text or its data belongs to the swipe it was written on; where another is active now, that one stays so. The message
 * tells which one is active. What the edit noted when it was made may be out of date: a conflict may have been decided
 * between it and an earlier edit.
 */
function onSwipe({ id, swipe, active: noted, type, field }, part, message) {
  const ofMessage = type === "field" && field !== "mes";
  const active = message?.swipes ? message.swipe_id : noted;
  if (ofMessage || swipe === null || active === null) return [{ id, ...part }];
  if (swipe === active) return [message ? { id, ...part } : { id, swipe_id: swipe, ...part }];
  return [{ id, swipe_id: swipe, ...part }, { id, swipe_id: active }];
}

const PLAIN = new Set(["id", "set", "extra", "splice"]);

function goTogether(first, second) {
  if (first.data || second.data) return first.id === second.id && [first, second].every(isData) && sameNamespace(first, second);
  if (first.id !== second.id || ![...Object.keys(first), ...Object.keys(second)].every((key) => PLAIN.has(key))) return false;
  const [text, other] = [first, second].map((patch) => Boolean(patch.splice || Object.hasOwn(patch.set ?? {}, "mes")));
  return !(text && other) && !(first.extra && second.extra && overlap(first.extra, second.extra));
}

const isData = (patch) => Object.keys(patch).every((key) => key === "id" || key === "data");

const sameNamespace = (first, second) => first.data.namespace === second.data.namespace;

function bothData({ namespace, values = {}, clear = [] }, second) {
  const both = { ...values, ...second.values };
  const gone = [...clear, ...(second.clear ?? [])].filter((key) => !Object.hasOwn(second.values ?? {}, key));
  const set = Object.entries(both).filter(([key]) => !gone.includes(key));
  return { namespace, ...(set.length ? { values: Object.fromEntries(set) } : {}), ...(gone.length ? { clear: gone } : {}) };
}

const overlap = (a, b) => Object.keys(b).some((key) => Object.hasOwn(a, key));

function together(first, second) {
  if (second.data) return { ...first, data: bothData(first.data, second.data) };
  const both = { ...first, ...second };
  if (first.set && second.set) both.set = { ...first.set, ...second.set };
  if (first.extra && second.extra) both.extra = { ...first.extra, ...second.extra };
  return both;
}
