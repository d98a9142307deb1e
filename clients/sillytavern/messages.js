// SillyTavern's messages as documents of Loci's API. Pure: no SillyTavern, no network.
import { isObject } from "./sync/documents.js";

/** Screens of SillyTavern itself, which it shows among messages but which nobody said. */
const SCREENS = new Set([
  "help", "welcome", "empty", "generic", "slash_commands", "formatting", "hotkeys", "macros", "welcome_prompt",
  "assistant_note", "assistant_message",
]);
/** Where the recall of a turn is kept in its message: the one thing that is written into the chat file. */
export const RECALL = "loci_recall";
/** Data of a message that is not sent: what is kept for Loci itself, and where Loci has rules of its own. */
const OWN = new Set([RECALL, "loci"]);
const MAX_NAME = 200; // characters that Loci accepts

/**
 * What is compared and sent of a message.
 * @typedef {{name: string, is_user: boolean, is_system: boolean, send_date: string | number, mes: string, extra: object,
 *   swipes: string[], swipe_id: number, swipe_info: object[], participant?: string}} Doc
 */

/** Whether a message is part of the conversation. @param {object} message of SillyTavern */
export const isTold = (message) => !SCREENS.has(message.extra?.type);

/**
 * @param {object} message of SillyTavern @param {(message: object) => string | undefined} [participantOf] of a group
 * @returns {Doc}
 */
export function docOf(message, participantOf = () => undefined) {
  const mes = cleaned(message.mes);
  const swipes = Array.isArray(message.swipes) && message.swipes.length ? message.swipes.map(cleaned) : [mes];
  const active = Number.isInteger(message.swipe_id) ? Math.min(Math.max(message.swipe_id, 0), swipes.length - 1) : 0;
  swipes[active] = mes; // old versions of SillyTavern leave the text of an edit out of the swipes
  const infos = swipes.map((_, n) => ({ extra: extraOf(n === active ? message.extra : message.swipe_info?.[n]?.extra) }));
  const participant = message.is_user ? undefined : participantOf(message);
  return {
    name: cleaned(message.name).slice(0, MAX_NAME),
    is_user: Boolean(message.is_user),
    is_system: Boolean(message.is_system),
    send_date: message.send_date ?? "",
    mes,
    extra: infos[active].extra,
    swipes,
    swipe_id: active,
    swipe_info: infos,
    ...(participant ? { participant } : {}),
  };
}

/** Whether SillyTavern is still about to write this message: the swipe that it shows is not there yet. */
export const isUnwritten = (message) =>
  !message.is_user && Array.isArray(message.swipes) && message.swipe_id >= message.swipes.length;

/** Text without what Loci can't store: NUL, and halves of surrogate pairs. */
const cleaned = (text) => (typeof text === "string" ? text : String(text ?? "")).replaceAll("\0", "").toWellFormed();

/** Data without Loci's own and without nulls, which a merge patch can't set. */
function extraOf(extra) {
  if (!isObject(extra)) return {};
  return Object.fromEntries(Object.entries(extra).filter(([key]) => !OWN.has(key)).flatMap(([key, value]) => {
    const kept = withoutNulls(value);
    return kept === undefined ? [] : [[key, kept]];
  }));
}

function withoutNulls(value) {
  if (typeof value === "string") return cleaned(value);
  if (typeof value === "number" && !Number.isFinite(value)) return undefined;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item) ?? null);
  if (!isObject(value)) return value === null || typeof value === "function" ? undefined : value;
  const entries = Object.entries(value).map(([key, item]) => [key, withoutNulls(item)]);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

/** Keys of the chat's metadata that Loci reads too, or that tell where a branch comes from. */
const METADATA = ["note_prompt", "note_depth", "note_interval", "note_position", "note_role", "main_chat", "scenario"];

/** @param {object} metadata of SillyTavern's chat @param {string} place see `placeOf` @returns {object} */
export function metadataOf(metadata, place) {
  const told = METADATA.filter((key) => metadata[key] !== undefined && metadata[key] !== null);
  return { ...Object.fromEntries(told.map((key) => [key, metadata[key]])), sillytavern: { place } };
}

/** The name of a chat's file, with whose it is: by it the chat is found again. */
export const placeOf = ({ groupId, avatar, file }) => (groupId ? `group/${groupId}/${file}` : `${avatar}/${file}`);
