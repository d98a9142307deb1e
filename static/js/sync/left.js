// What tabs that are gone have left behind unsent.
import { whenFree } from "./tabs.js";

/** The records of other tabs that `outbox` has taken over. */
export class LeftBehind {
  /** Outboxes of their own for records that began at another state than `outbox` is at. */
  children = [];
  #outbox;
  #opening = true;

  /** @param {import("./outbox.js").Outbox} outbox */
  constructor(outbox) {
    this.#outbox = outbox;
  }

  get pending() {
    return this.children.reduce((sum, child) => sum + child.pending, 0);
  }

  /** Take over every record whose tab is gone, now or as soon as it is. @param {AbortSignal} signal gives up */
  async collect(signal) {
    const { storage, locks, scope, name: own } = this.#outbox;
    for (const name of await storage.names(scope)) {
      if (name !== own) await whenFree(name, locks, () => storage.get(name), () => this.#adopt(name), signal);
    }
    this.#opening = false;
  }

  async #adopt(name) {
    const { storage } = this.#outbox;
    const record = await storage.get(name);
    if (this.#outbox.closed || !record) return;
    const { edits, sending } = this.#outbox; // as they are now: another record may have been taken over meanwhile
    // The first becomes the outbox's own, so that a page that opens sees its edits.
    const taker = this.#opening && edits.length === 0 && !sending ? this.#outbox : this.#child();
    taker.take(record);
    await taker.save();
    await storage.delete(name);
    taker.announceParked();
    if (taker !== this.#outbox) taker.kick();
  }

  #child() {
    const outbox = this.#outbox;
    const Kind = /** @type {new (options: object) => import("./outbox.js").Outbox} */ (outbox.constructor);
    const child = new Kind({ ...outbox.options, live: false });
    this.children.push(child);
    for (const type of ["conflict", "refused", "blocked", "saved"]) {
      child.addEventListener(type, (/** @type {CustomEvent} */ { detail }) => {
        outbox.emit(type, detail);
        if (type === "saved") outbox.lookForChanges();
      });
    }
    child.hold();
    return child;
  }
}
