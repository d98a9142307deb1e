// Edits that the server hasn't got yet: kept in storage, sent one write at a time, tried again until they arrive.
import { KeptEdits } from "./edits.js";
import { LeftBehind } from "./left.js";
import { movesSwipes, samePlace } from "./rebase.js";
import { Delay, Transport, backoff, newKey } from "./transport.js";

const KEY_REUSED = "/problems/idempotency-key-reused";

/** @typedef {import("./edits.js").Edit} Edit */

/** What ChatSync and SettingsSync have in common. */
export class Outbox extends KeptEdits {
  /** Why nothing is sent: {status, problem}; null unless the server has shut one out. */
  blocked = null;

  #random;
  #debounce;
  #backoff;
  #unanswered = false; // whether a request of `sending` is under way
  #dueTo = 0; // edits up to this n are sent without waiting any longer
  #timer;
  #wake = () => {};
  #running = null;
  #behind = false;
  #left = new LeftBehind(this);
  #status = "";
  #stops = [];
  #may = { send: 0, read: 0 }; // in manual mode: the pushes and pulls under way

  /** @param {import("./edits.js").SyncOptions} options @param {string} name of what is synchronised, in storage */
  constructor(options, name) {
    super(options, name);
    this.options = options;
    this.transport = new Transport(options);
    this.#random = options.random ?? Math.random;
    this.#debounce = options.debounce ?? 1000;
    this.#backoff = options.backoff ?? { base: 500, max: 30_000 };
  }

  /** The number of edits that the server hasn't got. */
  get pending() {
    return this.edits.filter((edit) => edit.state !== "stored").length + this.#left.pending;
  }

  // What the two kinds do

  /**
   * Return the write that sends the first of these edits. `key`: where it has to be the same however often the write
   * is made.
   * @param {Edit[]} _edits @param {boolean} [_leaving] whether the page is being left
   * @returns {{edits: Edit[], key?: string, method: string, path: string, body: object}}
   */
  batchOf(_edits, _leaving) { throw new Error("a kind of outbox says what it sends"); }
  /** @param {Edit[]} _edits @returns {(() => Promise<void>) | null} what has to be read before the first is sent */
  readFirst(_edits) { return null; }
  /** A write was stored. @returns {boolean} whether the known state now is that of `reply` */
  accepted(_edits, _reply) { return false; }
  /** A write met a newer state: take in what `problem` says. @returns {Promise<boolean>} whether trying again makes sense */
  async conflicted(_sent, _problem) { return false; }
  /** An edit was refused: bring later ones, which may build on it, onto the state without it. @param {Edit} _refused */
  withoutRefused(_refused) {}
  /** Read what others wrote. */
  async readChanges() {}

  // Opening and closing

  /** Take up the edits of earlier visits. */
  async restore() {
    this.#listen();
    this.hold();
    const leaving = new AbortController();
    this.#stops.push(() => leaving.abort());
    await this.#left.collect(leaving.signal);
  }

  /** @param {{state, edits: Edit[], sending, last: number}} record */
  take(record) {
    this.edits = record.edits.filter((edit) => edit.state !== "stored");
    this.sending = record.sending;
    this.last = record.last;
    if (!this.isManual) this.#dueTo = record.last;
    if (!this.state || record.state?.rev < this.state.rev) this.state = record.state;
    this.#behind = true;
  }

  #listen() {
    const on = (target, type, listener) => {
      target?.addEventListener?.(type, listener);
      this.#stops.push(() => target?.removeEventListener?.(type, listener));
    };
    const page = globalThis.document;
    on(page, "visibilitychange", () => page.visibilityState === "hidden" && !this.isManual && this.flush());
    on(page && globalThis, "pagehide", () => this.#leave());
    on(page && globalThis, "pageshow", () => this.kick());
    on(page && globalThis, "online", () => this.#wake());
  }

  /** Stop. Unsent edits stay in storage for the next time. */
  async close() {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.#timer);
    this.#wake();
    this.transport.abort();
    for (const stop of this.#stops) stop();
    await Promise.all(this.#left.children.map((child) => child.close()));
    await this.#running;
    await this.letGo();
  }

  // Edits

  /** An edit was added or changed. */
  edited(now = false) {
    this.save();
    this.#tell();
    clearTimeout(this.#timer);
    if (this.isManual) return;
    if (now) this.#due();
    else this.#timer = setTimeout(() => this.#due(), this.#debounce);
  }

  #due() {
    this.#dueTo = this.last;
    this.kick();
  }

  /** Whether only `push` and `pull` send and read. */
  get isManual() {
    return this.options.manual ?? false;
  }

  /** Send everything now. @returns {Promise<void>} resolves when nothing waits any more, or all is blocked */
  async push() {
    if (this.isManual && !this.state) await this.pull();
    await this.#allowing("send", () => this.#flush());
  }

  /** As `push`. @returns {Promise<void>} */
  flush() {
    return this.push();
  }

  /** Read what others wrote now. @returns {Promise<void>} */
  async pull() {
    await this.#allowing("read", () => this.lookForChanges());
  }

  async #allowing(what, action) {
    this.#may[what] += 1;
    try {
      await action();
    } finally {
      this.#may[what] -= 1;
    }
  }

  #allows(...actions) {
    return !this.isManual || actions.some((action) => this.#may[action] > 0);
  }

  async #flush() {
    clearTimeout(this.#timer);
    this.#due();
    this.#wake();
    await this.#running;
    await Promise.all(this.#left.children.map((child) => child.flush()));
  }

  /** Try again after `blocked`. */
  resume() {
    this.blocked = null;
    for (const child of this.#left.children) child.resume();
    this.#behind = true;
    this.#due();
  }

  /** Read what others wrote, unless the server can't be reached now: then it goes on by itself. */
  async reach() {
    const offline = new Promise((resolve) => {
      if (this.#status.startsWith("offline")) resolve();
      this.addEventListener("status", (/** @type {CustomEvent} */ { detail }) => detail.state === "offline" && resolve());
    });
    await Promise.race([this.lookForChanges(), offline]);
  }

  /** Read what others wrote, as soon as no write is under way. @returns {Promise<void>} */
  async lookForChanges() {
    this.#behind = true;
    this.kick();
    await this.#running;
  }

  // Sending

  kick() {
    this.#running ??= this.#run();
  }

  async #run() {
    await null; // edits of one turn go together
    let failures = 0;
    try {
      for (let task = this.#task(); task; task = this.#task()) {
        const failure = await task().then(() => null, (error) => error);
        if (failure === null) failures = 0;
        else if (!(failure instanceof Delay)) throw failure;
        else await this.#pause(failure.ms ?? backoff((failures += 1), this.#backoff, this.#random));
      }
    } finally {
      this.#running = null;
      this.#tell();
    }
  }

  /** What to do next. Changes are not read while the reply to a write is open: they may hold that write. */
  #task() {
    if (this.closed || this.blocked) return null;
    const due = this.#dueEdits;
    if (this.sending) return this.#allows("send", "read") ? () => this.#exclusive(() => this.#send()) : null;
    if (this.#behind && this.#allows("read")) return () => this.#read();
    if (due.length && this.state && this.#allows("send")) return this.readFirst(due) ?? (() => this.#exclusive(() => this.#send()));
    return null;
  }

  get #dueEdits() {
    return this.waiting.filter((edit) => edit.n <= this.#dueTo);
  }

  #exclusive(task) {
    return this.locks ? this.locks.request(`loci-write:${this.scope}`, task) : task();
  }

  async #read() {
    this.#behind = false;
    try {
      await this.readChanges();
    } catch (failure) {
      this.#behind = true;
      throw failure;
    }
    this.save();
  }

  #prepare(leaving = false) {
    const due = this.#dueEdits;
    if (this.sending || due.length === 0 || !this.state || this.readFirst(due)) return;
    const { edits, key = newKey(), ...write } = this.batchOf(due, leaving);
    this.sending = { ...write, key, edits: edits.map(({ n }) => n) };
  }

  async #send() {
    if (!this.sending) {
      this.#prepare();
      // In storage with its key before it goes out: that is what makes it arrive once.
      await this.save();
    }
    if (!this.sending || this.closed) return;
    this.#tell("saving");
    this.#unanswered = true;
    try {
      await this.#settle(await this.#request());
    } finally {
      this.#unanswered = false;
    }
    this.save();
  }

  #request() {
    const { method, path, key, body } = this.sending;
    return this.ask(method, path, { body: JSON.stringify(body), key, keepalive: true });
  }

  /** A request to the server. Throws Delay. */
  ask(method, path, options) {
    return this.transport.ask(method, path, options);
  }

  /** As `ask`, but tries again until the server answers. For a write that may be sent more than once. */
  async askUntilAnswered(method, path, options) {
    for (let failures = 1; ; failures += 1) {
      const reply = await this.ask(method, path, options).catch((failure) => failure);
      if (!(reply instanceof Error)) return reply;
      if (!(reply instanceof Delay) || this.closed) throw reply;
      const ms = reply.ms ?? backoff(failures, this.#backoff, this.#random);
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  }

  async #settle(reply) {
    const edits = this.edits.filter((edit) => this.sending.edits.includes(edit.n));
    if (reply.status < 300) {
      this.#done(edits, reply.body, this.accepted(edits, reply.body));
    } else if (reply.status === 409 && (await this.conflicted(this.sending.body, reply.body ?? {}))) {
      this.sending = null;
    } else if ([401, 403, 404].includes(reply.status)) {
      this.block(reply);
    } else if (reply.body?.type === KEY_REUSED) {
      // No other write has this key, so an earlier sending of this one has arrived.
      this.#done(edits, null, false);
    } else {
      this.#refuse(edits, reply);
    }
  }

  #done(edits, reply, known) {
    this.sending = null;
    if (!known) this.#behind = true;
    for (const edit of edits) {
      if (known) this.drop(edit, reply);
      else Object.assign(edit, { state: "stored" });
      this.answer(edit, reply);
    }
    this.emit("saved", { rev: reply?.rev, integrity: reply?.integrity, edits });
  }

  #refuse(edits, { body, status }) {
    const problem = body ?? { status, title: "The server refused this.", detail: "" };
    const named = new Set((problem.errors ?? []).map(({ pointer }) => Number(/^\/patches\/(\d+)/.exec(pointer)?.[1])));
    const guilty = edits.filter((edit) => named.has(edit.patch));
    this.sending = null;
    if (guilty.length === 0 && edits.length > 1) for (const edit of edits) edit.alone = true;
    else for (const edit of edits.length === 1 ? edits : guilty) this.#setAside(edit, problem);
  }

  /** Park a refused edit or, where a later one of the same place replaces it, have that one start where it started. */
  #setAside(edit, problem) {
    const later = this.waiting.find((other) =>
      other.n > edit.n && other.id === edit.id && (samePlace(other, edit) || movesSwipes(other)));
    if (later && samePlace(later, edit)) {
      Object.assign(later, { base: edit.base, text: edit.text });
      this.drop(edit);
    } else {
      this.withoutRefused(edit);
      this.park(edit, "refused", { problem });
    }
  }

  /** @param {{status: number, body: any}} reply */
  block({ status, body }) {
    this.blocked = { status, problem: body };
    this.emit("blocked", this.blocked);
  }

  /** What can still be sent from a page that is being left; its reply is learned at the next visit. */
  #leave() {
    if (this.#unanswered || this.blocked || this.closed || this.isManual) return;
    this.#dueTo = this.last;
    this.#prepare(true);
    if (!this.sending) return;
    this.save();
    this.#request().catch(() => {});
  }

  #pause(ms) {
    this.#tell("offline");
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => { clearTimeout(timer); resolve(); };
      if (this.closed) this.#wake();
    });
  }

  #tell(state) {
    const now = state ?? (this.blocked ? "blocked" : this.waiting.length ? "waiting" : "saved");
    const status = `${now} ${this.pending}`;
    if (status === this.#status) return;
    this.#status = status;
    this.emit("status", { state: now, pending: this.pending });
  }
}
