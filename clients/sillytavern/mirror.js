// The open chat, kept in step in Loci: SillyTavern's messages are what counts, and nothing is written back to them.
import { ChatSync } from "./sync-client.js";
import { align } from "./alignment.js";
import { docOf, isTold, isUnwritten, metadataOf } from "./messages.js";
import { planOf } from "./plan.js";
import { leavesOf, same, valueAt } from "./sync/documents.js";

const BATCH = 50; // messages in one append
const [FEW, PART] = [20, 0.5]; // so many messages, and such a part of the chat, aren't deleted without being asked

/**
 * Emits `changed` when something that a person should see has: see `progress`, `troubles`, `idOf`.
 */
export class Mirror extends EventTarget {
  /** What needs a person: conflicts and refusals as ChatSync tells them. @type {object[]} */
  troubles = [];
  /** Deletions that wait for a person's word; 0 if there are none. */
  heldDeletions = 0;
  /** @type {{state: string, pending: number}} */
  status = { state: "waiting", pending: 0 };

  #records;
  #entries = /** @type {import("./plan.js").Entry[]} */ ([]);
  #of = new WeakMap(); // message of SillyTavern -> its entry
  #unsent = 0; // messages that are being added, and how many there were at most
  #most = 0;
  #mayDelete = false;
  #participantOf;

  /**
   * @param {{chatId: string, place: string, sync: object, records: {get, put}, participantOf?: (message: object) => string | undefined}} options
   *   sync: options of ChatSync; records: storage of what was shown at the last visit
   */
  constructor({ chatId, place, sync, records, participantOf }) {
    super();
    this.chatId = chatId;
    this.place = place;
    this.#records = records;
    this.#participantOf = participantOf;
    this.sync = new ChatSync({ ...sync, chatId });
    for (const type of ["changed", "saved"]) this.sync.addEventListener(type, () => this.#tell());
    this.sync.addEventListener("status", ({ detail }) => { this.status = detail; this.#tell(); });
    this.sync.addEventListener("blocked", () => this.#tell());
    for (const type of ["conflict", "refused"]) this.sync.addEventListener(type, ({ detail }) => this.#keep(type, detail));
  }

  /** Take up what is unsent, and read the chat in Loci. Without a network it waits, and `changed` tells when it is there. */
  async open() {
    this.#entries = ((await this.#records.get(this.chatId).catch(() => undefined)) ?? []).filter(({ id }) => id);
    await this.sync.open();
    await this.sync.load({ from: 0, limit: Infinity });
    this.#tell();
  }

  async close() {
    await this.sync.close();
  }

  /** Why nothing is sent: {status, problem}, or null. */
  get blocked() {
    return this.sync.blocked;
  }

  /** Whether all of the chat in Loci is known, so that it can be compared. */
  get isReady() {
    return !this.sync.closed && !this.sync.blocked && this.sync.total !== null && this.sync.replica.isWhole;
  }

  /** Of the messages that are being added: how many have arrived, of how many. */
  get progress() {
    return { done: this.#most - this.#unsent, total: this.#most };
  }

  /** How many messages differ because they were written in Loci or elsewhere. */
  get differing() {
    // While it isn't known what became of a message that was sent, nothing can be said.
    if (!this.isReady || this.#entries.some(({ id, refused }) => !id && !refused)) return 0;
    const own = new Map(this.#entries.filter(({ id }) => id).map((entry) => [entry.id, entry.doc]));
    const stored = this.sync.messages.filter(({ id }) => id);
    const ids = new Set(stored.map(({ id }) => id));
    const changed = stored.filter(({ id, mes }) => !own.has(id) || own.get(id).mes !== mes).length;
    return changed + [...own.keys()].filter((id) => !ids.has(id)).length;
  }

  /** @param {object} message of SillyTavern @returns {string | null} its id in Loci */
  idOf(message) {
    return this.#of.get(message)?.id ?? null;
  }

  /**
   * Have Loci's chat follow. @param {object[]} messages SillyTavern's chat
   * @param {{metadata?: object, isWriting?: boolean}} [state] isWriting: the last message may be incomplete
   */
  reconcile(messages, { metadata, isWriting = false } = {}) {
    const told = messages.filter(isTold);
    // An empty list is a chat that is being loaded.
    if (!this.isReady || told.length === 0) return;
    const shown = this.#shown(told, isWriting);
    const { entries, steps, deleted } = planOf(this.#entries, shown, this.sync.messages);
    if (this.#holds(deleted)) return;
    this.#mayDelete = false;
    entries.forEach((entry, n) => { if (entry) this.#of.set(shown[n].message, entry); });
    const kept = entries.filter(Boolean);
    const isChanged = steps.length > 0 || !same(kept.map(({ id }) => id), this.#entries.map(({ id }) => id));
    this.#entries = kept;
    for (const step of steps) this.#do(step);
    if (metadata) this.#follow(metadata);
    if (!isChanged) return;
    this.#records.put(this.chatId, kept.map(({ id, doc }) => ({ id, doc }))).catch(() => {});
    this.#tell();
  }

  /** Whether so many deletions wait for a person's word. */
  #holds(deleted) {
    const held = !this.#mayDelete && deleted > FEW && deleted > this.#entries.length * PART ? deleted : 0;
    if (held !== this.heldDeletions) {
      this.heldDeletions = held;
      this.#tell();
    }
    return held > 0;
  }

  /** Go on with deletions that were held. */
  allowDeletions() {
    this.#mayDelete = true;
  }

  /** Have Loci's chat be as SillyTavern's at the next `reconcile`, also where it was changed in Loci. */
  overwrite() {
    const own = new Map(this.#entries.filter(({ id }) => id).map((entry) => [entry.id, entry]));
    const stored = this.sync.messages.filter(({ id }) => id);
    const ids = new Set(stored.map(({ id }) => id));
    this.#entries = this.#entries.filter(({ id }) => !id || ids.has(id));
    for (const message of stored) {
      const entry = own.get(message.id);
      const doc = { ...docOf(message, ({ participant }) => participant), extra: entry?.doc.extra ?? {} };
      if (entry) entry.doc = doc;
      else this.#entries.push({ id: message.id, doc });
    }
    this.#mayDelete = true;
  }

  /** Send what is unsent. @param {number} ms at most @returns {Promise<boolean>} whether all has arrived */
  async flush(ms) {
    const late = new Promise((resolve) => { setTimeout(resolve, ms); });
    await Promise.race([this.sync.flush(), late]);
    return this.isReady && this.sync.pending === 0;
  }

  /** Each message with its document and its entry: the same object, or else what says the same. */
  #shown(told, isWriting) {
    const known = new Set(this.#entries);
    const shown = told.map((message) => {
      const entry = this.#of.get(message);
      return { message, doc: docOf(message, this.#participantOf), known: entry && known.has(entry) ? entry : null };
    });
    const found = new Set(shown.map((item) => item.known));
    const [before, now] = [this.#entries.filter((entry) => !found.has(entry)), shown.filter((item) => !item.known)];
    if (before.length && now.length) {
      for (const [n, o] of align(before.map(({ doc }) => doc), now.map(({ doc }) => doc))) now[n].known = before[o];
    }
    return shown.flatMap((item, n) => {
      const isLast = n === shown.length - 1 && !item.message.is_user;
      if (!(isLast && isWriting) && !isUnwritten(item.message)) return [item];
      return item.known ? [{ ...item, doc: item.known.doc }] : [];
    });
  }

  #do([kind, ...given]) {
    if (kind !== "append") return void Promise.resolve(this.sync[kind](...given)).catch(() => {});
    const [docs] = given;
    for (let at = 0; at < docs.length; at += BATCH) {
      const batch = docs.slice(at, at + BATCH);
      this.#count(batch.length);
      this.sync.append(batch).catch(() => this.#refuse(batch)).finally(() => this.#count(-batch.length));
    }
  }

  #count(more) {
    this.#unsent += more;
    this.#most = this.#unsent === 0 ? 0 : Math.max(this.#most + Math.max(more, 0), this.#unsent);
    this.#tell();
  }

  /** What Loci doesn't accept isn't sent again and again. */
  #refuse(docs) {
    for (const entry of this.#entries) if (!entry.id && docs.includes(entry.doc)) entry.refused = true;
  }

  #follow(metadata) {
    if (!this.sync.knowsMetadata) return;
    const wanted = metadataOf(metadata, this.place);
    const changed = leavesOf(wanted).some(({ path, value }) => !same(valueAt(this.sync.metadata, path), value));
    if (changed) this.sync.editMetadata(wanted);
  }

  #keep(type, detail) {
    const settled = (action) => (...given) => {
      this.troubles = this.troubles.filter((trouble) => trouble !== kept);
      action(...given);
      this.#tell();
    };
    const { resolve = () => {}, retry = () => {}, discard } = detail;
    const kept = { ...detail, type, resolve: settled(resolve), retry: settled(retry), discard: settled(discard) };
    // The message is gone in Loci: SillyTavern's has its text, so nothing is lost.
    if (type === "conflict" && detail.edit?.gone) return discard();
    this.troubles = [...this.troubles.filter(({ edit }) => edit !== detail.edit), kept];
    return this.#tell();
  }

  #tell() {
    this.dispatchEvent(new CustomEvent("changed"));
  }
}
