// Settings of a user, kept in step with the server by key.
import { isObject, leavesOf, patchBetween, related, same, valueAt } from "./documents.js";
import { Outbox } from "./outbox.js";
import { firstBatch, mergePatchOf } from "./patches.js";
import { rebase, withEdit } from "./rebase.js";
import { follow } from "./live.js";

/** The settings of the user. Events: see sync-client.js. */
export class SettingsSync extends Outbox {
  #known = {};
  #unfollow = () => {};

  /** @param {import("./edits.js").SyncOptions} [options] */
  constructor(options = {}) {
    super(options, "settings");
  }

  /** Read the settings, take up unsent edits, and follow changes. @returns {Promise<this>} */
  async open() {
    await this.restore();
    if (this.options.live !== false && !this.isManual) {
      const changed = (event, { rev }) => event === "settings" && !(rev <= this.state?.rev) && this.lookForChanges();
      this.#unfollow = follow(this.options, changed, () => this.lookForChanges());
    }
    await (this.isManual ? this.pull() : this.reach());
    return this;
  }

  async close() {
    this.#unfollow();
    await super.close();
  }

  /** All settings, with the unsent edits in them. */
  get settings() {
    return this.laid.reduce(withEdit, this.#known);
  }

  /** @param {string} key @returns {any} undefined where it isn't set */
  get(key) {
    const all = this.settings;
    return Object.hasOwn(all, key) ? all[key] : undefined;
  }

  /** Have a setting be `value`; null removes it. Nulls within objects can't be kept. */
  set(key, value) {
    const old = this.get(key);
    this.patch(Object.fromEntries([[key, isObject(old) && isObject(value) ? patchBetween(old, value) : value]]));
  }

  /** Deep merge into the settings (RFC 7396). @param {object} changes */
  patch(changes) {
    for (const { path, value } of leavesOf(changes)) this.#write(path, value);
  }

  #write(path, value) {
    writeLeaf(this, { type: "setting", path, value }, valueAt(this.settings, path));
  }

  /** @param {import("./edits.js").Edit} edit @param {any} value @param {any} theirs */
  rewrite({ path }, value, theirs) {
    const now = valueAt(this.settings, path);
    if (same(now, theirs)) this.#write(path, value);
    else this.contest({ type: "setting", path, value, base: theirs, theirs: now });
  }

  batchOf(edits) {
    const batch = firstBatch(edits);
    // Other keys may have changed since: devices that move different sliders don't get in each other's way.
    const body = { integrity: this.state.integrity, on_conflict: "rebase", settings: mergePatchOf(batch) };
    return { method: "PATCH", path: "settings/", body, edits: batch };
  }

  accepted(edits, reply) {
    if (!reply?.settings) return false;
    for (const edit of edits) this.drop(edit, reply);
    this.#take(reply);
    return true;
  }

  async conflicted(sent, problem) {
    if (problem.current_integrity === sent.integrity) return false;
    await this.readChanges();
    return true;
  }

  /** @param {import("./edits.js").Edit} refused */
  withoutRefused({ n }) {
    const [before, later] = [this.laid.filter((edit) => edit.n < n), this.waiting.filter((edit) => edit.n > n)];
    this.#rebase(later, before.reduce(withEdit, this.#known));
  }

  async readChanges() {
    const { status, body } = await this.ask("GET", "settings/");
    if (status === 200) this.#take(body);
    else this.block({ status, body });
  }

  #take({ integrity, rev, settings }) {
    const before = this.#known;
    this.dropStored();
    this.#known = settings;
    this.state = { integrity, rev: rev ?? null };
    this.#rebase(this.edits, settings);
    const keys = [...new Set([...Object.keys(before), ...Object.keys(settings)])];
    const changed = keys.filter((key) => !same(before[key], settings[key]));
    if (changed.length) this.emit("changed", { settings: this.settings, keys: changed });
  }

  #rebase(edits, settings) {
    const { done, conflicts } = rebase(edits, { touched: new Map(), deleted: new Set(), metadata: settings });
    for (const edit of done) this.drop(edit);
    for (const edit of conflicts) this.park(edit, "conflict");
  }
}

const UNSENT = new Set(["waiting", "refused"]);

/**
 * Note that one place of a document was written: in an edit of the same place that hasn't gone out, or in a new one.
 * @param {Outbox} outbox @param {Partial<import("./edits.js").Edit>} edit
 * @param {any} now what stands there, with the unsent edits
 */
export function writeLeaf(outbox, edit, now) {
  const [earlier] = outbox.edits.filter((other) => UNSENT.has(other.state) && other.type === edit.type && other.id === edit.id
    && other.swipe === edit.swipe && related(other.path, edit.path)).slice(-1);
  if (!earlier || outbox.isSent(earlier) || earlier.path.length !== edit.path.length) {
    if (now === undefined || !same(now, edit.value)) outbox.add({ ...edit, base: now });
    return;
  }
  earlier.value = edit.value;
  if (earlier.state === "refused") earlier.state = "waiting";
  if (earlier.state === "waiting" && same(earlier.base, earlier.value)) outbox.drop(earlier);
  outbox.edited();
}
