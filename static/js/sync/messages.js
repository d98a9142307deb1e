// Messages as documents of the API: what an edit makes of one, and to which of its swipes an edit belongs.
import { entryAt, mergePatch, patchAt, valueAt, withEntry } from "./documents.js";

/** The position of the active swipe; null where the document doesn't tell its swipes. */
export const activeSwipe = (message) => (message?.swipes ? message.swipe_id : null);

export const textOf = (message, swipe) => (swipe === null || !message.swipes ? message.mes : message.swipes[swipe]) ?? null;

/** The data of a swipe. */
export function extraOf(message, swipe) {
  if (swipe === null || !message.swipes || swipe === message.swipe_id) return message.extra ?? {};
  return message.swipe_info?.[swipe]?.extra ?? {};
}

/** What the edit changes, as it is in `message`; null where it isn't known. */
export function currentOf(message, edit) {
  if (edit.type === "extra") return valueAt(extraOf(message, edit.swipe), edit.path);
  if (edit.type === "data") return entryAt(extraOf(message, edit.swipe), edit.path);
  return edit.field === "mes" ? textOf(message, edit.swipe) : message[edit.field] ?? null;
}

/**
 * The position in `message` of the swipe that an edit was made on: the one with the text that it had then, or, where
 * that was changed, the one most like it. Null where there is none.
 */
export function locateSwipe(message, swipe, text) {
  const position = swipe ?? message.swipe_id;
  if (text === null || message.swipes[position] === text) return position < message.swipes.length ? position : null;
  const place = message.swipes.indexOf(text);
  if (place >= 0) return place;
  const like = message.swipes.map((other) => likeness(other, text));
  // Equally like, or all rewritten: what stands in its place.
  if (message.swipes.length > position) like[position] += 0.01;
  const most = Math.max(...like);
  return most > 0 ? like.indexOf(most) : null;
}

/**
 * Where the swipe of an edit is after another edit of its message, and which one is active then, as far as the two tell.
 * `swipe` undefined: it is gone.
 * @param {{swipe?: number, active?: number}} place @param {{type?: string, value?: any}} edit the other one
 */
export function placeAfter({ swipe, active }, { type, value }) {
  if (type === "swipe_id") return { swipe, active: value };
  if (type === "swipe_order") return { swipe: value.indexOf(swipe), active: value.indexOf(active) };
  if (type !== "delete_swipe") return { swipe, active };
  return { swipe: swipe === value ? undefined : swipe > value ? swipe - 1 : swipe, active: active > value ? active - 1 : active };
}

/** The part of the words of `text` that `other` has too, 0 to 1. */
function likeness(other, text) {
  const [its, own] = [other, text].map((words) => new Set(words.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []));
  return own.size ? [...own].filter((word) => its.has(word)).length / own.size : 0;
}

/** `message` with an edit in it, as a new document. Its place is not changed. */
export function edited(message, edit) {
  switch (edit.type) {
    case "field":
      if (edit.field === "mes") return withText(message, edit.swipe, edit.value);
      return { ...message, [edit.field]: edit.value, ...(edit.field === "is_system" ? { hidden: edit.value } : {}) };
    case "extra":
      return withExtra(message, edit.swipe, mergePatch(extraOf(message, edit.swipe), patchAt(edit.path, edit.value)));
    case "data":
      return withExtra(message, edit.swipe, withEntry(extraOf(message, edit.swipe), edit.path, edit.value));
    case "add_swipe": {
      const { mes = "", extra = {} } = edit.value;
      const [swipes, infos] = [[...(message.swipes ?? [message.mes]), mes], [...(message.swipe_info ?? [{}]), { extra }]];
      return withSwipes(message, swipes, infos, swipes.length - 1);
    }
    case "delete_swipe": return reordered(message, keep(message, edit.value), edit.value);
    case "swipe_order": return reordered(message, edit.value);
    case "swipe_id": return message.swipes?.length > edit.value ? withSwipes(message, message.swipes, message.swipe_info, edit.value) : message;
    default: return message;
  }
}

function withText(message, swipe, text) {
  if (swipe === null || !message.swipes) return { ...message, mes: text };
  if (swipe >= message.swipes.length) return message;
  return withSwipes(message, message.swipes.with(swipe, text), message.swipe_info, message.swipe_id);
}

function withExtra(message, swipe, extra) {
  if (swipe === null || !message.swipes) return { ...message, extra };
  const infos = (message.swipe_info ?? []).map((info, n) => (n === swipe ? { ...info, extra } : info));
  const done = withSwipes(message, message.swipes, infos, message.swipe_id);
  return swipe === message.swipe_id ? { ...done, extra } : done;
}

function withSwipes(message, swipes, infos, active) {
  const extra = infos?.[active]?.extra ?? (active === message.swipe_id ? message.extra : {});
  return { ...message, swipes, swipe_info: infos, swipe_id: active, mes: swipes[active], extra };
}

const keep = (message, gone) => (message.swipes ?? []).flatMap((_, n) => (n === gone ? [] : [n]));

/** Its swipes at their old positions in `order`; where the active one is `gone`, the one in its place is active. */
function reordered(message, order, gone) {
  if (!message.swipes) return message;
  const active = message.swipe_id === gone ? Math.min(gone, order.length - 1) : order.indexOf(message.swipe_id);
  return withSwipes(message, order.map((n) => message.swipes[n]), order.map((n) => message.swipe_info?.[n] ?? {}), active);
}
