// Unsent edits: in storage from the moment they are made, and told of where a person has to decide.
import { IndexedStorage, MemoryStorage } from "./storage.js";
import { holdName } from "./tabs.js";
import { newKey } from "./transport.js";

/**
 * @typedef {object} SyncOptions
 * @property {string} [baseUrl] of the API; "/api/v1/" unless given
 * @property {string} [user] whose edits these are, where several people use one browser: part of their name in storage
 * @property {object | (() => object | Promise<object>)} [headers] sent with every request: X-CSRFToken or Authorization
 * @property {number} [debounce] ms without a further edit before edits are sent; 1000 unless given
 * @property {boolean} [live] whether to follow what others write; true unless given
 * @property {boolean} [manual] whether nothing is sent or read but by `push`, `pull` and the first `load`; edits are kept
 *   in storage, and `messages` shows them. What waits for its reply, such as `append`, resolves with a push
 * @property {number} [pollInterval] ms between looks at the server where it can't tell by itself; 15000 unless given
 * @property {{base: number, max: number}} [backoff] ms of the first and the longest wait between tries; 500 and 30000
 * @property {number} [timeout] ms before a request counts as lost; 30000 unless given
 * @property {typeof fetch} [fetch]
 * @property {{get, put, delete, names}} [storage] as IndexedStorage, which it is unless given
 * @property {{get, put, delete, names} | null} [copies] where readable copies of chats are kept for when the server
 *   can't be reached; unless given, in IndexedDB, or nowhere if `storage` is given. `forgetCopies` deletes them
 * @property {LockManager | null} [locks] navigator.locks unless given
 * @property {() => number} [random] of 0 to 1; Math.random unless given
 */

/**
 * @typedef {object} Edit
 * @property {number} n its place in the order of edits
 * @property {string} key a UUID of its own
 * @property {string} type
 * @property {"waiting" | "stored" | "conflict" | "refused"} state stored: on the server, in a state not read yet
 * @property {string} [id] of the message
 * @property {string | null} [before] id of the message that an insert or a move stands before
 * @property {string} [field] of the message
 * @property {number} [swipe]
 * @property {string[]} [path] in the metadata or the settings; of data: [namespace, key]
 * @property {any} [value] of data: in a list, which is empty where the key is cleared; so are base and theirs
 * @property {any} [base] the value that was edited
 * @property {any} [theirs] in a conflict: what others wrote
 * @property {boolean} [gone] in a conflict: what it belongs to is gone
 * @property {object} [problem] why the server refused it
 * @property {string | null} [text] of the swipe, when the edit was made
 * @property {string[]} [texts] of all swipes, when the edit was made
 * @property {number} [active] position of the active swipe, when the edit was made
 * @property {boolean} [alone]
 * @property {object} [patch]
 */

/** What an edit of data holds: null is a value, undefined is none. */
export const entryOf = (value) => (value === undefined ? [] : [value]);

/** The edits of one tab to one chat, or to the settings. */
export class KeptEdits extends EventTarget {
  /** The state of the server that is known here. @type {{integrity: string, rev: number} | null} */
  state = null;
  /** Those that the server hasn't got, in their order. @type {Edit[]} */
  edits = [];
  /** The write whose reply is not known: {key, method, path, body, edits: [n]}. */
  sending = null;
  /** The `n` of the last edit. */
  last = 0;
  closed = false;

  #sent = new Map(); // n -> {resolve, reject} of those who wait for it
  #writing = Promise.resolve();
  #release; // gives the record up; null when that was done

  /** @param {SyncOptions} options @param {string} name of what is synchronised, in storage */
  constructor(options, name) {
    super();
    this.storage = options.storage ?? (globalThis.indexedDB ? new IndexedStorage() : new MemoryStorage());
    this.locks = options.locks === undefined ? globalThis.navigator?.locks : options.locks;
    this.scope = `${options.user ?? ""}/${name}/`;
    this.name = this.scope + newKey();
  }

  /** The edits that wait to be sent, in their order; those of a conflict or refused are not among them. */
  get waiting() {
    return this.edits.filter((edit) => edit.state === "waiting");
  }

  /** The edits that the known state does not have yet but should. */
  get laid() {
    return this.edits.filter((edit) => edit.state === "waiting" || edit.state === "stored");
  }

  /** The known state has caught up. */
  dropStored() {
    this.edits = this.edits.filter((edit) => edit.state !== "stored");
  }

  /** Note that edits changed, and send them after the debounce, or `now`. A subclass does. @param {boolean} [_now] */
  edited(_now) {}

  /** Write what a person decided in a conflict. A subclass does. @param {Edit} _edit @param {any} _value @param {any} _theirs */
  rewrite(_edit, _value, _theirs) {}

  /** Where the swipe of an edit is by now, if it has one. A subclass says. @param {Edit} _edit @returns {{swipe?: number, active?: number}} */
  swipeNow(_edit) { return {}; }

  /** Whether a write with this edit has gone out whose reply is not known. */
  isSent(edit) {
    return this.sending?.edits.includes(edit.n) ?? false;
  }

  /**
   * Take in an edit. It is in storage from here on, and sent after the debounce, or `now`.
   * @param {Partial<Edit>} edit @param {{now?: boolean}} [when] @returns {Edit}
   */
  add(edit, { now = false } = {}) {
    const whole = /** @type {Edit} */ ({ n: (this.last += 1), key: newKey(), state: "waiting", ...edit });
    this.edits.push(whole);
    this.edited(now);
    return whole;
  }

  /** @param {Edit} edit @returns {Promise<any>} its reply; rejects with the problem where it is refused */
  whenSent(edit) {
    const sent = new Promise((resolve, reject) => this.#sent.set(edit.n, { resolve, reject }));
    sent.catch(() => {}); // the event says it too
    return sent;
  }

  /** Forget an edit. @param {Edit} edit */
  drop(edit, reply) {
    this.edits = this.edits.filter((other) => other !== edit);
    this.answer(edit, reply);
  }

  answer(edit, reply) {
    this.#sent.get(edit.n)?.resolve(reply);
    this.#sent.delete(edit.n);
  }

  /** Set an edit aside: later ones go on. */
  park(edit, state, more) {
    Object.assign(edit, { state }, more);
    this.announce(edit);
  }

  /** Take in an edit that meets another one from the start. */
  contest(edit) {
    this.park(this.add(edit), "conflict");
    this.save();
  }

  /** Tell of an edit that was set aside. */
  announce(edit) {
    const discard = () => { this.drop(edit); this.edited(); };
    if (edit.state === "refused") {
      this.#sent.get(edit.n)?.reject(edit.problem);
      this.#sent.delete(edit.n);
      return this.emit("refused", { edit, problem: edit.problem, retry: () => this.#retry(edit), discard });
    }
    const { id = null, field, path, theirs: seen } = edit;
    const isData = edit.type === "data";
    const [base, mine, theirs] = [edit.base, edit.value, seen].map((value) => (isData && value ? value[0] : value));
    // Decided by who saw this `theirs`; what came later is merged with it.
    const resolve = (value) => this.#resolve(edit, isData ? entryOf(value) : value, seen);
    return this.emit("conflict", { id, field: field ?? edit.type, path, base, mine, theirs, edit, resolve, discard });
  }

  /** Tell of all that were set aside. */
  announceParked() {
    for (const edit of this.edits) if (["conflict", "refused"].includes(edit.state)) this.announce(edit);
  }

  /** Send a refused edit again, to where its swipe is by now. */
  #retry(edit) {
    if (this.closed || !this.edits.includes(edit)) return;
    const place = this.swipeNow(edit);
    if (Object.hasOwn(place, "swipe") && place.swipe === undefined) {
      return this.park(edit, "conflict", { theirs: null, gone: true });
    }
    Object.assign(edit, place, { state: "waiting" });
    this.edited(true);
  }

  #resolve(edit, value, theirs) {
    if (this.closed || !this.edits.includes(edit)) return;
    if (edit.gone) throw new Error("Its message or swipe was deleted: discard it, or append its text as a new message.");
    this.drop(edit);
    this.rewrite(edit, value, theirs);
    this.edited(true);
  }

  /** Put the edits into storage as they are now. */
  save() {
    // What was let go may be another tab's by now.
    if (this.#release === null) return this.#writing;
    const next = this.#writing.then(() => this.#store());
    this.#writing = next.catch((error) => this.emit("error", { error }));
    return this.#writing;
  }

  /** @param {number} [seen] when its owner was there last */
  #store(seen = Date.now()) {
    if (this.edits.length === 0 && !this.sending) return this.storage.delete(this.name);
    return this.storage.put(this.name, {
      state: this.state, edits: this.edits, sending: this.sending, last: this.last, seen,
    });
  }

  /** Own the record in storage, until `letGo`. */
  hold() {
    this.#release = holdName(this.name, this.locks, () => this.edits.length && this.save());
  }

  async letGo() {
    await this.#writing;
    const release = this.#release;
    this.#release = null; // from here on the record may be another tab's
    // Where no lock says that it is free, the record does, so that the next tab needn't wait until it is old.
    if (release && !this.locks) await this.#store(0).catch((error) => this.emit("error", { error }));
    release?.();
  }

  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
