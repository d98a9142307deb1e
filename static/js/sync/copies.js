// Readable copies of chats, for when the server can't be reached.
import { IndexedStorage } from "./storage.js";

const DATABASE = "loci-copies";
const PAUSE = 500; // ms between two writes of a copy
const MAX_MESSAGES = 200; // the last ones of the window
const REFUSED = [401, 403, 404]; // a copy of what one may not read any more is not kept

/**
 * The storage of copies: none where an own storage of edits is given, and none of copies.
 * @param {{copies?: object | null, storage?: object}} options @returns {any}
 */
export function copiesOf({ copies, storage }) {
  if (copies !== undefined) return copies;
  return storage || !globalThis.indexedDB ? null : new IndexedStorage(DATABASE);
}

/** The copy of one chat's window. */
export class ChatCopy {
  #storage;
  #name;
  #timer;
  #record;
  #writing = Promise.resolve();

  /** @param {{get, put, delete, names} | null} storage null: nothing is kept @param {string} name */
  constructor(storage, name) {
    this.#storage = storage;
    this.#name = name;
  }

  /** @returns {Promise<object | undefined>} what was kept last; undefined also where storage fails */
  async read() {
    return this.#storage?.get(this.#name).catch(() => undefined);
  }

  /**
   * Keep the window of a chat, in a moment.
   * @param {{state: object, metadata: object | null, window: {from: number, total: number, messages: object[]}}} record
   */
  keep({ window: { from, total, messages }, ...record }) {
    if (!this.#storage) return;
    const left = Math.max(messages.length - MAX_MESSAGES, 0);
    this.#record = { ...record, window: { from: from + left, total, messages: messages.slice(left) } };
    this.#timer ??= setTimeout(() => this.#write(), PAUSE);
  }

  /** Write what is still to be written. */
  async close() {
    this.#write();
    await this.#writing;
  }

  /** Delete the copy where the server refuses to show the chat. @param {number} status */
  refuse(status) {
    if (!this.#storage || !REFUSED.includes(status)) return;
    this.#record = undefined;
    this.#writing = this.#writing.then(() => this.#storage.delete(this.#name)).catch(() => {});
  }

  #write() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const record = this.#record;
    this.#record = undefined;
    // A copy that can't be kept, as when the disk is full, is no reason to stop.
    if (record) this.#writing = this.#writing.then(() => this.#storage.put(this.#name, record)).catch(() => {});
  }
}

/**
 * Delete the copies of a person's chats, as at signing out.
 * @param {{user?: string, copies?: {get, put, delete, names} | null}} [options] as given to `openSync`
 */
export async function forgetCopies({ user, copies } = {}) {
  const storage = copiesOf({ copies });
  const names = (await storage?.names(`${user ?? ""}/`)) ?? [];
  await Promise.all(names.map((name) => storage.delete(name)));
}
