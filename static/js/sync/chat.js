// A chat, kept in step with the server.
import { ChatState } from "./chat-state.js";
import { isObject, leavesOf, same, valueAt, withEntry } from "./documents.js";
import { entryOf } from "./edits.js";
import { activeSwipe, extraOf, textOf } from "./messages.js";
import { writeLeaf } from "./settings.js";
import { mergeText } from "./text.js";

const RECAPS = "auto_recap_memory"; // the namespace of recaps

/**
 * One chat. Edits return at once and are sent by themselves; `await flush()` waits until they have arrived.
 * Messages are named by their id. Events: see sync-client.js.
 */
export class ChatSync extends ChatState {
  /**
   * Change fields of a message: mes, name, is_system, send_date, participant. The text is that of its active swipe.
   * @param {string} id @param {object} values
   * @param {{base?: object}} [options] base: the fields as they were when the person began to edit; needed for messages
   *   that are not known here
   */
  edit(id, values, { base = {} } = {}) {
    for (const [field, value] of Object.entries(values)) this.#editField(id, field, value, base[field]);
  }

  #editField(id, field, value, began) {
    const message = this.message(id);
    const active = activeSwipe(message);
    this.#write({ type: "field", id, field, swipe: field === "mes" ? active : null, active, value, text: null }, began);
  }

  /**
   * Take in a new value, written by a person who began with `began`; undefined: with what stands there. `known`:
   * what stands there as far as is known without the message.
   */
  #write(edit, began, known) {
    const now = this.nowOf(edit) ?? known;
    const base = now ?? began;
    if (this.laid.some(({ type, id }) => type === "delete" && id === edit.id)) {
      return this.contest({ ...edit, base, theirs: null, gone: true });
    }
    if (edit.field === "mes") edit.text = base ?? null;
    if (began !== undefined && now !== undefined && !same(began, now)) {
      const both = [began, edit.value, now].every((it) => typeof it === "string") ? mergeText(began, edit.value, now) : null;
      if (both === null && !same(now, edit.value)) return this.contest({ ...edit, base: began, theirs: now });
      edit.value = both ?? edit.value;
    }
    const earlier = this.#earlier(edit);
    if (earlier) this.#editAgain(earlier, edit.value);
    else if (base === undefined || !same(base, edit.value)) this.add({ ...edit, base });
  }

  rewrite(parked, value, theirs) {
    const edit = { ...parked, ...this.swipeNow(parked) };
    const { type, id, path } = edit;
    const gone = Object.hasOwn(edit, "swipe") && edit.swipe === undefined;
    if (gone) this.contest({ ...bare(edit), value, theirs: null, gone });
    else if (type === "field") this.#write({ ...bare(edit), value }, theirs, edit.theirs);
    else if (type === "extra" || type === "data") this.#writeOver(edit, value, theirs, this.nowOf(edit) ?? edit.theirs);
    else if (type === "metadata") this.#writeOver(edit, value, theirs, valueAt(this.metadata, path));
    else this.#deleteSeen(id, [theirs, ...edit.texts]);
  }

  #writeOver(edit, value, theirs, now) {
    if (same(now, theirs)) writeLeaf(this, { ...bare(edit), value }, now);
    else this.contest({ ...bare(edit), value, base: theirs, theirs: now });
  }

  /** Delete a message of which a person has seen `texts`. */
  #deleteSeen(id, texts) {
    const message = this.message(id);
    const unseen = message?.swipes?.find((text) => !texts.includes(text));
    const edit = { type: "delete", id, base: message?.mes, texts, value: null };
    if (unseen === undefined) this.add(edit, { now: true });
    else this.contest({ ...edit, theirs: unseen });
  }

  /** The edit of the same place that hasn't gone out, with nothing after it that would change its meaning. */
  #earlier({ id, field, swipe }) {
    for (const other of this.edits.toReversed()) {
      if (other.id !== id || other.state === "conflict") continue;
      if (this.isSent(other) || other.state === "stored") return null;
      if (other.type === "field" && other.field === field && other.swipe === swipe) return other;
      if (!["field", "extra", "data"].includes(other.type)) return null;
    }
    return null;
  }

  #editAgain(earlier, value) {
    earlier.value = value;
    if (earlier.state === "refused") earlier.state = "waiting";
    if (earlier.state === "waiting" && same(earlier.base, value)) this.drop(earlier);
    this.edited();
  }

  /** Deep merge (RFC 7396) into the data of a message's active swipe. @param {string} id @param {object} changes */
  editExtra(id, changes) {
    const message = this.message(id);
    const swipe = activeSwipe(message);
    const text = message ? textOf(message, swipe) : null;
    for (const { path, value } of leavesOf(changes)) {
      const now = message ? valueAt(extraOf(message, swipe), path) : undefined;
      writeLeaf(this, { type: "extra", id, swipe, active: swipe, text, path, value }, now);
    }
  }

  /**
   * The data that programs keep with a message, of one namespace, with the unsent edits in it.
   * @param {string} id @param {string} namespace
   * @param {{swipe?: number | "previous"}} [options] swipe: another one than the active
   * @returns {Promise<object>} empty where there is none, nor such a message; rejects where the server can't be asked
   */
  async getData(id, namespace, { swipe } = {}) {
    const message = this.message(id);
    if (message?.swipes) {
      const position = swipe === "previous" ? message.swipe_id - 1 : swipe ?? message.swipe_id;
      const data = extraOf(message, position)[namespace];
      return isObject(data) ? data : {};
    }
    const query = swipe === undefined ? "" : `?swipe=${swipe}`;
    const { status, body } = await this.ask("GET", `${this.path}messages/${id}/data/${encodeURIComponent(namespace)}/${query}`);
    if (status === 404) return {};
    if (status !== 200) throw body;
    const edits = this.laid.filter((edit) => edit.type === "data" && edit.id === id && swipe === undefined);
    return edits.reduce((all, { path, value }) => withEntry(all, path, value), { [namespace]: body })[namespace] ?? {};
  }

  /**
   * One key of a namespace, which may be null; undefined where it isn't set.
   * @param {string} id @param {string} namespace @param {string} key
   * @param {{swipe?: number | "previous"}} [options] @returns {Promise<any>}
   */
  async getValue(id, namespace, key, options) {
    const data = await this.getData(id, namespace, options);
    return Object.hasOwn(data, key) ? data[key] : undefined;
  }

  /**
   * Set keys of a namespace of a message's active swipe; null is a value.
   * @param {string} id @param {string} namespace @param {object} values
   * @param {{clear?: string[]}} [options] clear: keys to delete
   */
  editData(id, namespace, values, { clear = [] } = {}) {
    const message = this.message(id);
    const swipe = activeSwipe(message);
    const text = message ? textOf(message, swipe) : null;
    const entries = [...Object.entries(values), ...clear.map((key) => [key, undefined])];
    for (const [key, value] of entries) {
      const path = [namespace, key];
      const edit = { type: "data", id, swipe, active: swipe, text, path, value: entryOf(value) };
      writeLeaf(this, edit, message?.extra ? this.nowOf(edit) : undefined);
    }
  }

  /** Move the value of a key to a new name, if there is one. @param {string} id @param {string} namespace */
  async moveData(id, namespace, from, to) {
    const data = await this.getData(id, namespace);
    if (Object.hasOwn(data, from)) this.editData(id, namespace, { [to]: data[from] }, { clear: [from] });
  }

  /** Write the recap of a message; null clears it. @param {string} id @param {string | null} text */
  editRecap(id, text) {
    const cleared = { error: null, reasoning: null, prefill: null };
    const edited = text === null ? { edited: false, exclude: false } : { edited: true };
    this.editData(id, RECAPS, { memory: text, ...cleared, ...edited });
  }

  /** The recap of a message, null where there is none. @param {string} id @param {{swipe?: number | "previous"}} [options] */
  async getRecap(id, options) {
    const { memory, prefill } = await this.getData(id, RECAPS, options);
    return typeof memory === "string" ? `${prefill ?? ""}${memory}` : null;
  }

  /** Deep merge (RFC 7396) into the chat's metadata. @param {object} changes */
  editMetadata(changes) {
    for (const { path, value } of leavesOf(changes)) {
      writeLeaf(this, { type: "metadata", path, value }, this.knowsMetadata ? valueAt(this.metadata, path) : undefined);
    }
  }

  /**
   * Add messages at the end: at once, behind everything written here before.
   * @param {object | object[]} messages
   * @returns {Promise<{index: number, id: string, rev: number}[]>} when they are stored; rejects with the problem where
   *   they are refused. Empty where they arrived with an earlier try whose reply was lost: `changed` tells of them.
   */
  async append(messages) {
    const reply = await this.#now({ type: "append", value: [messages].flat() });
    return reply?.appended ?? [];
  }

  /** Put a message before another. @param {string} before an id @param {object} message @returns {Promise<void>} */
  async insert(before, message) {
    await this.#now({ type: "insert", before, value: message });
  }

  /**
   * Put a message elsewhere. @param {string} id
   * @param {{before?: string | null, index?: number}} place before: an id of the window, null for the end
   */
  move(id, { before, index }) {
    return this.#now({ type: "move", id, before, value: index ?? null });
  }

  /**
   * @param {string} id @param {{alone?: boolean}} [options] alone: in a write of its own, which can be undone by its rev
   */
  delete(id, { alone } = {}) {
    const { mes, swipes = [mes] } = this.message(id) ?? {};
    return this.#now({ type: "delete", id, base: mes, texts: swipes, value: null, alone });
  }

  /** Add a swipe, which becomes the active one. @param {string} id @param {{mes: string, extra?: object}} swipe */
  addSwipe(id, swipe) {
    return this.#now({ type: "add_swipe", id, value: swipe });
  }

  /** Make another swipe the active one. @param {string} id @param {number} position */
  selectSwipe(id, position) {
    return this.#now({ type: "swipe_id", id, value: position, text: this.#swipeText(id, position) });
  }

  /** @param {string} id @param {number} position */
  deleteSwipe(id, position) {
    return this.#now({ type: "delete_swipe", id, value: position, text: this.#swipeText(id, position) });
  }

  /** @param {string} id @param {number[]} order the old positions in their new order */
  orderSwipes(id, order) {
    return this.#now({ type: "swipe_order", id, value: order, texts: this.#swipesOf(id) ?? order.map(() => null) });
  }

  #swipeText(id, position) {
    return this.#swipesOf(id)?.[position] ?? null;
  }

  /**
   * The texts of a message's swipes; undefined where they aren't known. A message that was tracked by its active swipe
   * alone may hold a swipe already that is laid over it, or have others.
   */
  #swipesOf(id) {
    return this.replica.get(id)?.swipes && this.message(id).swipes;
  }

  #now(edit) {
    return this.whenSent(this.add(edit, { now: true }));
  }

  /**
   * Undo a write to the chat, after sending what is unsent.
   * @param {number} [rev] of the write; left out, the last one
   * @returns {Promise<{undone: number, kind: string}>} once the server has answered, however long the network is away;
   *   rejects with the problem where nothing is left to undo, or others wrote meanwhile
   */
  async undo(rev) {
    await this.flush();
    const body = JSON.stringify(rev === undefined ? { integrity: this.state.integrity } : { rev });
    const { status, body: reply } = await this.askUntilAnswered("POST", `${this.path}undo/`, { body });
    await this.pull();
    if (status !== 200) throw reply ?? { status, title: "The server refused this.", detail: "" };
    return reply;
  }
}

/** What an edit says, without what became of it. */
const bare = ({ n, key, state, theirs, gone, problem, alone, patch, ...edit }) => edit;
