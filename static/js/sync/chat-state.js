// The state of a chat as the server has it, with the unsent edits over it, and how writes and changes move it on.
import { ChatCopy, copiesOf } from "./copies.js";
import { mergePatch } from "./documents.js";
import { follow } from "./live.js";
import { currentOf, edited, locateSwipe, placeAfter } from "./messages.js";
import { Outbox } from "./outbox.js";
import { firstBatch, mergePatchOf, patchesOf } from "./patches.js";
import { readMessages } from "./reading.js";
import { isOfDocument, movesSwipes, rebase, samePlace, withEdit } from "./rebase.js";
import { Replica } from "./replica.js";
import { Tombstones } from "./tombstones.js";
import { Delay } from "./transport.js";

const MAX_TRIES = 10; // of reading a window that is being written
const COMPLETED = new Set(["append", "insert", "add_swipe"]); // by the server, with what was left out
const REPEATABLE = new Set(["field", "extra", "data", "delete"]);

/** All of ChatSync but the writing. */
export class ChatState extends Outbox {
  replica = new Replica();
  #tombstones = new Tombstones();
  #metadata = null;
  #wanted = null; // the window to be read: {from, limit}
  #unfollow = () => {};
  #copy;

  /** @param {import("./edits.js").SyncOptions & {chatId: string}} options */
  constructor(options) {
    super(options, options.chatId);
    this.#copy = new ChatCopy(copiesOf(options), this.scope);
    this.chatId = options.chatId;
    this.path = `chats/${options.chatId}/`;
  }

  /**
   * Take up unsent edits of earlier visits, learn the state of the chat, and follow changes.
   * @param {{integrity?: string, rev?: number}} [shown] the state that the page shows already: `changed` then tells
   *   what was written since. @returns {Promise<this>}
   */
  async open({ integrity, rev } = {}) {
    if (integrity !== undefined && rev !== undefined) this.state = { integrity, rev };
    await this.restore();
    if (this.options.live !== false && !this.isManual) {
      const changed = (event, word) =>
        (event === "memories" || (event === "chat" && word.chat === this.chatId && !(word.rev <= this.state?.rev)))
        && this.lookForChanges();
      this.#unfollow = follow(this.options, changed, () => this.lookForChanges());
    }
    if (!this.isManual) await this.reach();
    return this;
  }

  async close() {
    this.#unfollow();
    await super.close();
    await this.#copy.close();
  }

  // Reading

  /**
   * Read a window of messages and keep it up to date. While the server can't be reached, it is that of the last visit,
   * if there was one; `changed` tells when the server has been reached.
   * @param {{from?: number, limit?: number}} [window] from: negative counts from the end; limit: Infinity for the rest
   * @returns {Promise<object[]>} the messages, with unsent edits in them
   */
  async load({ from = -50, limit = from < 0 ? -from : 50 } = {}) {
    this.#wanted = { from, limit };
    const copy = this.total === null ? await this.#copy.read() : undefined;
    if (!copy) await this.pull();
    else if (!this.isManual) await this.reach();
    if (copy && this.total === null && !this.blocked) this.#showCopy(copy);
    return this.messages;
  }

  /** Show what was read at an earlier visit. What was written since is taken in as soon as the server is reached. */
  #showCopy({ state, metadata, window }) {
    this.state ??= state;
    this.#metadata ??= metadata;
    this.replica.show(window);
    this.emit("changed", { messages: this.messages, deleted: [], metadata: this.metadata, chat: null, reload: true });
  }

  save() {
    const { from, total, messages } = this.replica;
    const isExact = total !== null && this.#wanted === null; // what is edited later has to be what the server had
    if (isExact) this.#copy.keep({ state: this.state, metadata: this.#metadata, window: { from, total, messages } });
    return super.save();
  }

  block(reply) {
    this.#copy.refuse(reply.status);
    super.block(reply);
  }

  /** Have `count` more messages before those of the window. @returns {Promise<object[]>} */
  loadEarlier(count = 50) {
    const { from, messages } = this.replica;
    const more = Math.min(count, from);
    return this.load({ from: from - more, limit: messages.length + more });
  }

  /**
   * Messages that the front end shows without having loaded them here, as documents with at least `id` and `mes`.
   * They make for smaller and safer edits. @param {object[]} messages
   */
  track(messages) {
    this.replica.track(messages);
  }

  /** The window as it will be once all edits have arrived. Messages not stored yet have the id null. @returns {object[]} */
  get messages() {
    return this.laid.reduce(layOver, this.replica.messages);
  }

  /** The index of the window's first message, and the messages of the whole chat. */
  get from() { return this.replica.from; }
  get total() { return this.replica.total; }

  /** The chat's metadata, with unsent edits in them. */
  get metadata() {
    return this.laid.filter(isOfDocument).reduce(withEdit, this.#metadata ?? {});
  }

  get knowsMetadata() {
    return this.#metadata !== null;
  }

  /** A known message with its unsent edits. @param {string} id @returns {object | undefined} */
  message(id) {
    const known = this.replica.get(id);
    return known && this.#laidOver(known);
  }

  #laidOver(message) {
    return this.laid.filter((edit) => edit.id === message.id).reduce(edited, message);
  }

  /** What stands where `edit` writes, with the unsent edits; undefined where that isn't known. */
  nowOf(edit) {
    const message = this.message(edit.id);
    return message ? currentOf(message, edit) : this.laid.findLast((other) => samePlace(other, edit))?.value;
  }

  /** Where the swipe of an edit that was set aside is by now; its `swipe` is undefined where that is gone. */
  swipeNow(edit, message = this.message(edit.id)) {
    if ((edit.swipe ?? null) === null) return {};
    if (!message?.swipes) return this.laid.filter(({ id, n }) => id === edit.id && n > edit.n).reduce(placeAfter, { swipe: edit.swipe, active: edit.active });
    const text = edit.type === "field" ? edit[edit.state === "conflict" ? "theirs" : "base"] : edit.text;
    return { swipe: locateSwipe(message, edit.swipe, text) ?? undefined, active: message.swipe_id };
  }

  // What the outbox asks

  batchOf(edits, leaving) {
    const batch = firstBatch(edits);
    const [{ type, key, value, before }] = batch;
    const { integrity } = this.state;
    const post = (route, body, more) => ({ method: "POST", path: this.path + route, body, edits: batch, ...more });
    if (type === "append" || (type === "insert" && before === null)) {
      // Without an integrity, or a message that somebody else wrote alike would pass for this one.
      const messages = [value].flat();
      return post("append/", { messages }, { key });
    }
    if (type === "metadata") return post("patch-metadata/", { integrity, metadata: mergePatchOf(batch) });
    const patches = patchesOf(batch, (edit) => this.#placeOf(edit), (id) => this.replica.get(id));
    // A page that is being left can't answer a conflict over what doesn't concern it.
    const rebased = leaving && batch.every((edit) => REPEATABLE.has(edit.type)) ? { on_conflict: "rebase" } : {};
    return post("patch/", { integrity, ...rebased, patches }, COMPLETED.has(type) ? { key } : {});
  }

  /** The index that a move leads to; undefined where the messages it names are not in the window. */
  #placeOf({ id, before, value }) {
    if (before === undefined) return value;
    const [own, anchor] = [this.replica.indexOf(id), before === null ? this.replica.count : this.replica.indexOf(before)];
    if (own === undefined || anchor === undefined) return undefined;
    return own < anchor ? anchor - 1 : anchor;
  }

  readFirst([edit]) {
    return edit.type === "move" && this.#placeOf(edit) === undefined ? () => this.#readPlaces(edit) : null;
  }

  async #readPlaces(edit) {
    const all = await readMessages(this, this.path, { from: 0, limit: Infinity });
    if (this.blocked) return;
    if (all?.integrity !== this.state.integrity) return void this.lookForChanges();
    this.replica.placeAll(all.messages);
    if (this.#placeOf(edit) === undefined) this.drop(edit); // one of its messages isn't in this chat
  }

  accepted(edits, reply) {
    if (reply.rev <= this.state.rev) return true;
    // Nothing applied: it was in effect already, and the rev is that of somebody else's write.
    if (reply.rev !== this.state.rev + 1 || !reply.applied || edits.some(({ type }) => COMPLETED.has(type))) return false;
    if (!edits.map((edit) => this.#applyOwn(edit)).every(Boolean)) {
      this.#wantAgain();
      return false;
    }
    for (const { id, rev } of reply.messages ?? []) this.#revise(id, rev);
    if (reply.metadata) this.#metadata = reply.metadata;
    this.state = { integrity: reply.integrity, rev: reply.rev };
    return true;
  }

  #applyOwn(edit) {
    if (edit.type === "delete") return this.#deleted(edit);
    if (edit.type === "move") return this.replica.move(edit.id, this.#placeOf(edit));
    const message = edit.id && this.replica.get(edit.id);
    if (message) this.replica.replace(edited(message, edit));
    for (const other of this.edits) if (["conflict", "refused"].includes(other.state)) this.#follow(other, edit);
    return true;
  }

  /** Keep an edit that was set aside in line with what was written after it. */
  #follow(parked, edit) {
    if (samePlace(parked, edit)) parked[parked.state === "conflict" ? "theirs" : "base"] = edit.value;
    else if (parked.id === edit.id && (parked.swipe ?? null) !== null) {
      const message = this.replica.get(edit.id);
      if (!message?.swipes) Object.assign(parked, placeAfter(parked, edit));
      else if (movesSwipes(edit)) Object.assign(parked, this.swipeNow(parked, message));
    }
  }

  #deleted(edit) {
    for (const other of this.edits) {
      if (other.id === edit.id && other.state === "conflict") Object.assign(other, { theirs: null, gone: true });
    }
    return this.replica.remove(edit.id);
  }

  #revise(id, rev) {
    const message = this.replica.get(id);
    if (message) this.replica.replace({ ...message, rev });
  }

  async conflicted(sent, problem) {
    if (problem.current_integrity === undefined || problem.current_integrity === sent.integrity) return false;
    if (problem.changes && this.#metadata && sent.integrity === this.state.integrity) {
      this.#take({ integrity: problem.current_integrity, rev: problem.current_rev, changes: problem.changes });
      if (this.#wanted) this.lookForChanges(); // before anything else is sent
    } else await this.readChanges();
    return true;
  }

  async readChanges() {
    if (!this.#metadata) await this.#readChat();
    for (let tries = 0; tries < MAX_TRIES && !this.blocked; tries += 1) {
      const { status, body } = await this.ask("GET", `${this.path}changes/?since=${this.state.integrity}`);
      if (status === 200 || status === 410) await this.#bury(status === 200 ? body : null);
      if (this.blocked) return;
      // More than one page is read as the whole chat: pages are of one state only while nobody writes.
      if (status === 200 && !body.next) this.#take(body);
      else if (![200, 400, 410].includes(status)) this.block({ status, body });
      else if (!(await this.#readAnew())) continue;
      if (!this.#wanted || this.blocked || (await this.#readWanted())) return;
    }
    if (!this.blocked) throw new Delay();
  }

  /** Tell of memories that were deleted, each once. @param {object | null} changes the first page; null: a log too short */
  async #bury(changes) {
    for await (const tombstones of this.#tombstones.since(changes, this)) this.emit("tombstones", { tombstones });
  }

  async #readChat() {
    const { status, body } = await this.ask("GET", this.path);
    if (status !== 200) return this.block({ status, body });
    this.#metadata = body.metadata;
    this.state ??= { integrity: body.integrity, rev: body.rev };
  }

  /** Read the window; whether it is of the known state. */
  async #readWanted() {
    const wanted = this.#wanted;
    const window = await readMessages(this, this.path, wanted);
    if (window?.integrity !== this.state.integrity || this.#wanted !== wanted) return false;
    this.#wanted = null;
    this.replica.show(window);
    this.emit("changed", { messages: this.messages, deleted: [], metadata: null, chat: null, reload: true });
    return true;
  }

  #wantAgain() {
    const { from, total, toEnd, messages } = this.replica;
    if (total !== null) this.#wanted ??= { from, limit: toEnd ? Infinity : Math.max(messages.length, 1) };
  }

  /** Take in changes, all of them at once. */
  #take({ integrity, rev, changes }) {
    const touched = new Map(changes.flatMap((change) => change.messages).map((message) => [message.id, message]));
    const deleted = new Set(changes.flatMap((change) => change.deleted).filter((id) => !touched.has(id)));
    const written = changes.filter((change) => change.metadata !== null && change.metadata !== undefined);
    const metadata = written.length ? written.reduce(withMetadata, this.#metadata) : null;
    this.#bring({ touched, deleted, metadata, survivor: (id, gone) => this.replica.survivor(id, gone) });
    if (!this.replica.apply(touched, deleted)) this.#wantAgain();
    this.state = { integrity, rev };
    if (changes.length === 0) return;
    const messages = [...touched.values()].map((message) => this.#laidOver(message));
    const chat = changes.findLast((change) => change.chat)?.chat ?? null;
    this.emit("changed", { messages, deleted: [...deleted], metadata: metadata && this.metadata, chat, reload: false });
  }

  /** Bring the unsent edits onto a newer state. */
  #bring(delta) {
    this.dropStored();
    if (delta.metadata) this.#metadata = delta.metadata;
    this.#rebase(this.edits, delta);
  }

  #rebase(edits, delta) {
    const { done, conflicts } = rebase(edits, delta);
    for (const edit of done) this.drop(edit);
    for (const edit of conflicts) this.park(edit, "conflict");
  }

  /** @param {import("./edits.js").Edit} refused */
  withoutRefused(refused) {
    const before = this.laid.filter(({ n, id }) => n < refused.n && id === refused.id);
    const known = this.replica.get(refused.id);
    const message = known && before.reduce(edited, withAllSwipes(known));
    if (message && refused.type === "add_swipe") this.#withoutSwipe(refused, message.swipes.length);
    this.#rebase(this.waiting.filter(({ n }) => n > refused.n), {
      touched: new Map(message ? [[message.id, message]] : []),
      deleted: new Set(),
      metadata: isOfDocument(refused) ? before.filter(isOfDocument).reduce(withEdit, this.#metadata ?? {}) : null,
    });
  }

  /**
   * What was written on a swipe that wasn't added is nowhere else.
   * @param {import("./edits.js").Edit} refused @param {number} position that the swipe would have had
   */
  #withoutSwipe({ n, id }, position) {
    for (const edit of this.waiting.filter((other) => other.n > n && other.id === id)) {
      if (edit.swipe === position) this.park(edit, "conflict", { theirs: null, gone: true });
      else if (["swipe_id", "delete_swipe"].includes(edit.type) && edit.value === position) this.drop(edit);
    }
  }

  /** The log doesn't reach back to the known state: read the whole chat. Whether it stood still meanwhile. */
  async #readAnew() {
    const window = await readMessages(this, this.path, { from: 0, limit: Infinity });
    const chat = await this.ask("GET", this.path);
    if (!window || chat.body?.integrity !== window.integrity) return false;
    const touched = new Map(window.messages.map((message) => [message.id, message]));
    const known = [...this.edits.flatMap(({ id, before }) => [id, before]), ...this.replica.messages.map(({ id }) => id)];
    const deleted = new Set(known.filter((id) => id && !touched.has(id)));
    this.#bring({ touched, deleted, metadata: chat.body.metadata, survivor: (id, gone) => this.replica.survivor(id, gone) });
    this.replica.refresh(touched);
    this.#wantAgain();
    this.state = { integrity: window.integrity, rev: window.rev };
    const metadata = this.metadata;
    this.emit("changed", { messages: this.messages, deleted: [...deleted], metadata, chat: chat.body, reload: true });
    return true;
  }
}

/** A message whose document may not tell its swipes. */
const withAllSwipes = (message) => ({ swipes: [message.mes], swipe_info: [{ extra: message.extra }], swipe_id: 0, ...message });

/** The metadata after a change: a merge patch but for keys whose values hold a null, which a patch can't set. */
function withMetadata(metadata, { metadata: change, metadata_replaced: whole, replaced_keys: keys = [] }) {
  if (whole) return change;
  return { ...mergePatch(metadata, change), ...Object.fromEntries(keys.map((key) => [key, change[key]])) };
}

/** The list of messages with one more edit in it. */
function layOver(messages, edit) {
  if (edit.type === "append") return [...messages, ...edit.value.map((message) => unsent(message, edit))];
  if (edit.type === "delete") return messages.filter(({ id }) => id !== edit.id);
  if (edit.type === "insert") return placed(messages, unsent(edit.value, edit), edit);
  if (edit.type !== "move") return messages.map((message) => (message.id === edit.id ? edited(message, edit) : message));
  const message = messages.find(({ id }) => id === edit.id);
  return message ? placed(messages.filter((other) => other !== message), message, edit) : messages;
}

const unsent = (message, { key }) => ({ ...message, id: null, unsent: key });

function placed(messages, message, { before, value }) {
  const at = before ? messages.findIndex(({ id }) => id === before) : before === null ? -1 : value - (messages[0]?.index ?? 0);
  return at < 0 ? [...messages, message] : messages.toSpliced(at, 0, message);
}
