// What has to be done in Loci so that its chat follows SillyTavern's. Pure.
import { align, longestRising } from "./alignment.js";
import { docOf } from "./messages.js";
import { patchBetween, same } from "./sync/documents.js";

/**
 * A message that both have: the id in Loci, null while that isn't known, and how SillyTavern showed it last.
 * @typedef {{id: string | null, doc: import("./messages.js").Doc, refused?: boolean}} Entry
 * @typedef {[kind: string, ...any]} Step a method of ChatSync with its arguments
 */

/**
 * @param {Entry[]} base what SillyTavern showed at the last plan
 * @param {{doc: import("./messages.js").Doc, known: Entry | null}[]} shown now; `known`: which of `base` it is
 * @param {object[]} stored the messages in Loci, with what is unsent; the id of one that is unsent is null
 * @returns {{entries: (Entry | null)[], steps: Step[], deleted: number}} entries: for each of `shown`, null: next time
 */
export function planOf(base, shown, stored) {
  const ids = new Set(stored.map(({ id }) => id).filter(Boolean));
  const steps = [];
  const kept = new Set(shown.map(({ known }) => known).filter(Boolean));
  const gone = base.filter((entry) => !kept.has(entry) && entry.id && ids.has(entry.id));
  for (const { id } of gone) steps.push(["delete", id]);
  const entries = adopted(base, shown, stored);
  steps.push(...movesOf(base, entries, ids));
  shown.forEach(({ doc }, n) => {
    const entry = entries[n];
    if (!entry?.id || same(entry.doc, doc)) return;
    if (ids.has(entry.id)) steps.push(...changesOf(entry.id, entry.doc, doc));
    entry.doc = doc;
  });
  steps.push(...additionsOf(shown, entries));
  return { entries, steps, deleted: gone.length };
}

/** The entry of each message: the known one, or one for a message that Loci has already, maybe in an older version. */
function adopted(base, shown, stored) {
  const taken = new Set(base.map(({ id }) => id).filter(Boolean));
  const free = stored.filter(({ id }) => !id || !taken.has(id));
  const entries = shown.map(({ doc, known }) => {
    if (known?.id || known?.refused) return known;
    const at = free.findIndex((message) => isSaid(message, known?.doc ?? doc));
    if (at < 0) return null; // new, or lost on the way: it is added
    const [{ id }] = free.splice(at, 1);
    return { id: id ?? null, doc: known?.doc ?? doc };
  });
  adoptOlder(entries, shown, free.filter(({ id }) => id));
  return entries;
}

/** What was changed while this browser didn't know what Loci has, as with another profile, is a change and not new. */
function adoptOlder(entries, shown, free) {
  const open = shown.flatMap(({ known }, n) => (entries[n] || known ? [] : [n]));
  if (!free.length || !open.length) return;
  // Its data are not compared: some are Loci's own.
  const older = free.map((message) => ({ ...docOf(message), extra: {} }));
  for (const [n, o] of align(older, open.map((at) => shown[at].doc))) entries[open[n]] = { id: free[o].id, doc: older[o] };
}

const isSaid = (message, doc) =>
  message.mes === doc.mes && Boolean(message.is_user) === doc.is_user && message.name === doc.name;

/** Moves of known messages whose order has changed, from the last on. */
function movesOf(base, entries, ids) {
  const places = new Map(base.map(({ id }, n) => [id, n]));
  const known = entries.filter((entry) => entry?.id && places.has(entry.id) && ids.has(entry.id));
  const order = known.map(({ id }) => places.get(id));
  const still = new Set(longestRising(order));
  return known.map(({ id }, n) => ["move", id, { before: known[n + 1]?.id ?? null }]).filter((_, n) => !still.has(n)).reverse();
}

/** What is new: at the end in one go, and before a message that is known there one by one. */
function additionsOf(shown, entries) {
  const steps = [];
  const last = entries.findLastIndex(Boolean);
  shown.slice(0, last).forEach(({ doc }, n) => {
    if (entries[n]) return;
    const next = entries.slice(n + 1).find(Boolean);
    if (!next?.id) return; // its place can't be named yet
    steps.push(["insert", next.id, doc]);
    entries[n] = { id: null, doc };
  });
  const added = shown.slice(last + 1).map(({ doc }) => doc);
  added.forEach((doc, n) => { entries[last + 1 + n] = { id: null, doc }; });
  if (added.length) steps.push(["append", added]);
  return steps;
}

/** @param {string} id @param {import("./messages.js").Doc} before @param {import("./messages.js").Doc} now @returns {Step[]} */
export function changesOf(id, before, now) {
  const steps = swipesOf(id, before, now);
  const moved = steps.length > 0;
  for (const field of ["name", "is_system", "send_date", "participant"]) {
    const [old, value] = [before[field] ?? null, now[field] ?? null];
    if (!same(old, value)) steps.push(["edit", id, { [field]: value }, { base: { [field]: old } }]);
  }
  // Another swipe has data of its own.
  const patch = patchBetween(moved && before.swipe_id !== now.swipe_id ? {} : before.extra, now.extra);
  if (Object.keys(patch).length) steps.push(["editExtra", id, patch]);
  return steps;
}

/** Deleted swipes, changed ones, new ones, and at last which one is shown. */
function swipesOf(id, before, now) {
  const steps = [];
  const swipes = [...before.swipes];
  let active = before.swipe_id;
  for (let n = 0; swipes.length > now.swipes.length && n < swipes.length;) {
    if (n < now.swipes.length && swipes[n] === now.swipes[n]) { n += 1; continue; }
    steps.push(["deleteSwipe", id, n]);
    swipes.splice(n, 1);
    if (active === n) active = Math.min(n, swipes.length - 1);
    else if (active > n) active -= 1;
  }
  swipes.forEach((text, n) => {
    if (text === now.swipes[n]) return;
    if (active !== n) steps.push(["selectSwipe", id, n]);
    active = n;
    steps.push(["edit", id, { mes: now.swipes[n] }, { base: { mes: text } }]);
  });
  now.swipes.slice(swipes.length).forEach((mes, n) => {
    active = swipes.length + n; // a new swipe becomes the active one
    steps.push(["addSwipe", id, { mes, extra: now.swipe_info[active]?.extra ?? {} }]);
  });
  if (active !== now.swipe_id) steps.push(["selectSwipe", id, now.swipe_id]);
  return steps;
}
