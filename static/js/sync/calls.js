// Calls about what belongs to a chat besides its messages, recalls, scenes and snapshots, and about memories.
import { Delay, Transport, backoff, newKey } from "./transport.js";

const TRIES = 5;

/**
 * Recalls, scenes, snapshots, memories and the journal. Each call resolves to a document of the API, and rejects with the server's problem, or
 * with a Delay where the server can't be reached. A write is stored once, however often it has to be sent.
 */
export class Calls {
  #transport;
  #random;
  #backoff;

  /** @param {import("./edits.js").SyncOptions} [options] baseUrl, headers, fetch, timeout and backoff are used */
  constructor(options = {}) {
    this.#transport = new Transport(options);
    this.#random = options.random ?? Math.random;
    this.#backoff = options.backoff ?? { base: 500, max: 30_000 };
  }

  // Recalls: what was remembered for a message of the user

  /** @param {string} chat @returns {Promise<object[]>} newest first */
  recalls(chat) {
    return this.#pages(`chats/${chat}/recalls/`);
  }

  /** @param {string} chat @param {string} message @returns {Promise<object | null>} null where there is none */
  async recall(chat, message) {
    return this.#orNull(this.#ask("GET", recallPath(chat, message)));
  }

  /** Replace the text of a recall. It is kept until a re-run. */
  editRecall(chat, message, text) {
    return this.#ask("PATCH", recallPath(chat, message), { text });
  }

  /** Delete a recall; nothing where there is none. @returns {Promise<null>} */
  deleteRecall(chat, message) {
    return this.#orNull(this.#ask("DELETE", recallPath(chat, message)));
  }

  /** Make the recall of a message again. */
  rerunRecall(chat, message) {
    return this.#ask("POST", `${recallPath(chat, message)}rerun/`);
  }

  // Scenes: each has the id of the message that ends it

  /** @param {string} chat @returns {Promise<object[]>} in the order of the chat */
  async scenes(chat) {
    return (await this.#ask("GET", `chats/${chat}/scenes/`)).results;
  }

  /**
   * End a scene with a message. @param {string} chat @param {string} message
   * @param {{name?: string | null, visible?: boolean, collapsed?: boolean, include?: boolean, metadata?: object}} [fields]
   */
  async endScene(chat, message, fields = {}) {
    return (await this.#ask("POST", `chats/${chat}/scenes/`, { ...fields, message })).scene;
  }

  /**
   * Change a scene. @param {string} chat @param {string} scene
   * @param {object} fields as of `endScene`, and recap: a new version of it, or current: the position of the one to use
   */
  async changeScene(chat, scene, fields) {
    return (await this.#ask("PATCH", `chats/${chat}/scenes/${scene}/`, fields)).scene;
  }

  /** Have a scene not end there. @returns {Promise<object>} the chat's integrity and rev */
  removeScene(chat, scene) {
    return this.#ask("DELETE", `chats/${chat}/scenes/${scene}/`);
  }

  // Snapshots

  /** @param {{chat?: string}} [filter] @returns {Promise<object[]>} newest first */
  snapshots({ chat } = {}) {
    return this.#pages("snapshots/", chat ? { chat } : {});
  }

  /** @param {string} id @returns {Promise<object | null>} its state among others; null where it is gone */
  snapshot(id) {
    return this.#orNull(this.#ask("GET", `snapshots/${id}/`));
  }

  /** Take a snapshot of a chat or, without one, of the account. @param {{chat?: string}} [of] */
  takeSnapshot({ chat = null } = {}) {
    return this.#ask("POST", "snapshots/", { chat });
  }

  /** Restore a snapshot, in the background. @returns {Promise<object>} the restore */
  restoreSnapshot(id) {
    return this.#ask("POST", `snapshots/${id}/restore/`);
  }

  /** Delete a snapshot; nothing where it is gone. @returns {Promise<null>} */
  deleteSnapshot(id) {
    return this.#orNull(this.#ask("DELETE", `snapshots/${id}/`));
  }

  /** The archive of a snapshot that has succeeded. @returns {Promise<Blob>} */
  async downloadSnapshot(id) {
    const response = await this.#transport.stream(`snapshots/${id}/download/`, undefined, "*/*");
    if (!response.ok) throw await response.json().catch(() => ({ status: response.status }));
    return response.blob();
  }

  // Memories

  /** Store a memory. @param {object} fields text, kind and tier; chat, character, namespace, metadata, tags, ... */
  createMemory(fields) {
    return this.#ask("POST", "memories/", { kind: "fact", tier: "long_term", ...fields });
  }

  /**
   * @param {object} [filters] of the API: chat, character, kind, state, ...; filter: an object of conditions
   * @returns {Promise<object[]>} newest first
   */
  memories({ filter, ...filters } = {}) {
    return this.#pages("memories/", filter ? { ...filters, filter: JSON.stringify(filter) } : filters);
  }

  /** @param {string} id @returns {Promise<object | null>} null where there is none, or no longer */
  memory(id) {
    return this.#orNull(this.#ask("GET", `memories/${id}/`));
  }

  /** Correct a memory: its text, kind, importance, pinned, hidden, metadata, tags or expires_at. */
  updateMemory(id, changes) {
    return this.#ask("PATCH", `memories/${id}/`, changes);
  }

  /** Delete a memory; nothing where there is none. @returns {Promise<null>} */
  deleteMemory(id) {
    return this.#orNull(this.#ask("DELETE", `memories/${id}/`));
  }

  /** What happened to a memory, and to those that it replaced or that replaced it. @returns {Promise<object[]>} */
  async memoryHistory(id) {
    return (await this.#ask("GET", `memories/${id}/history/`)).results;
  }

  // Journal

  /** @param {{granularity?: string, from?: string, to?: string, instance?: string}} [filters] */
  journal(filters = {}) {
    return this.#pages("journal/", filters);
  }

  /** @param {string} id @returns {Promise<object | null>} */
  journalEntry(id) {
    return this.#orNull(this.#ask("GET", `journal/${id}/`));
  }

  /** Write a daily, whose bullets are merged with those that are there, or a significant entry. */
  writeEntry(fields) {
    return this.#ask("POST", "journal/", { granularity: "daily", ...fields });
  }

  /** Correct the title or the text of an entry. */
  updateEntry(id, changes) {
    return this.#ask("PATCH", `journal/${id}/`, changes);
  }

  /** Delete an entry; nothing where there is none. @returns {Promise<null>} */
  deleteEntry(id) {
    return this.#orNull(this.#ask("DELETE", `journal/${id}/`));
  }

  /** Have weeks, months and years made of the dailies, in the background. */
  consolidateJournal({ granularity = null, period = null } = {}) {
    return this.#ask("POST", "journal/consolidate/", { granularity, period });
  }

  // Requests

  /** All results of a list, page by page. */
  async #pages(path, filter = {}) {
    const results = [];
    for (let query = new URLSearchParams(filter); query;) {
      const page = await this.#ask("GET", `${path}${query.size ? `?${query}` : ""}`);
      results.push(...page.results);
      // Only the query of the next page is used, so that headers go to no other host.
      query = page.next ? new URL(page.next, "http://localhost").searchParams : null;
    }
    return results;
  }

  async #ask(method, path, body) {
    const options = method === "GET" ? {} : { key: newKey(), body: body && JSON.stringify(body) };
    for (let failures = 1; ; failures += 1) {
      const reply = await this.#transport.ask(method, path, options).catch((failure) => failure);
      if (!(reply instanceof Error)) return contentOf(reply);
      if (!(reply instanceof Delay) || failures === TRIES) throw reply;
      const ms = reply.ms ?? backoff(failures, this.#backoff, this.#random);
      await new Promise((resolve) => { setTimeout(resolve, ms); });
    }
  }

  #orNull(asked) {
    return asked.catch((problem) => {
      if (problem.status === 404) return null;
      throw problem;
    });
  }
}

const recallPath = (chat, message) => `chats/${chat}/messages/${message}/recall/`;

function contentOf({ status, body }) {
  if (status < 300) return body;
  throw body ?? { status, title: "The server refused this.", detail: "" };
}
