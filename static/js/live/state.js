// Show next to the composer whether edits are saved, and list the unsaved ones on request.
import { filled, gettext, ngettext } from "../words.js";

const element = document.getElementById("sync-state");

const KINDS = {
  append: () => gettext("Your new message"),
  add_swipe: () => gettext("Your new version"),
  field: ({ field }) => (field === "mes" ? gettext("Your edit") : gettext("A change")),
  delete: () => gettext("A deletion"),
  metadata: () => gettext("A change of the chat"),
};

export class SyncState {
  #sync;
  #words = element.querySelector("[data-words]");
  #resume = element.querySelector("[data-resume]");
  #offline = false;

  /** @param {import("../sync-client.js").ChatSync} sync */
  constructor(sync) {
    this.#sync = sync;
    element.hidden = false;
    this.#resume.addEventListener("click", () => sync.resume());
    sync.addEventListener("saved", () => { this.#offline = false; });
    for (const type of ["online", "offline"]) window.addEventListener(type, () => this.show({ state: "" }));
    element.addEventListener("toggle", () => this.#list());
  }

  /** @param {{state: string}} status */
  show({ state }) {
    if (state === "offline") this.#offline = true;
    if (state === "saved") this.#offline = false;
    this.#resume.hidden = !this.#sync.blocked;
    this.#say(...this.#wordsFor());
    this.#list();
  }

  block({ status }) {
    this.#resume.hidden = false;
    this.#say(status === 404 ? gettext("This chat no longer exists") : gettext("You are signed out"), this.#sync.edits.length);
    this.#list();
  }

  get #isOffline() {
    return this.#offline || !navigator.onLine;
  }

  #wordsFor() {
    const { edits, waiting, blocked } = this.#sync;
    const unresolved = edits.length - waiting.length;
    if (blocked) return [blocked.status === 404 ? gettext("This chat no longer exists") : gettext("You are signed out"), edits.length];
    if (this.#isOffline) return [gettext("Offline"), waiting.length];
    if (unresolved) return [filled(ngettext("%(count)s change needs your decision", "%(count)s changes need your decision", unresolved), { count: unresolved }), 0];
    return [waiting.length ? gettext("Saving …") : gettext("Saved"), 0, true];
  }

  /** @param {string} words @param {number} kept unsent edits @param {boolean} isCalm whether nothing needs attention */
  #say(words, kept, isCalm = false) {
    const waiting = ngettext("%(words)s: %(count)s change waits on this device", "%(words)s: %(count)s changes wait on this device", kept);
    const text = kept ? filled(waiting, { words, count: kept }) : words;
    if (this.#words.textContent !== text) this.#words.textContent = text;
    element.classList.toggle("attention", !isCalm);
  }

  #list() {
    if (!element.open) return;
    const lines = this.#sync.edits.map((edit) => line(edit, this.#sync.message(edit.id)));
    const shown = lines.length ? lines : [item(gettext("Everything is saved."))];
    const advice = gettext("Keep this page open: without a connection it can’t be opened again. What you write is kept on this device.");
    element.querySelector("[data-list]").replaceChildren(...(this.#isOffline ? [item(advice)] : []), ...shown);
  }
}

function line(edit, message) {
  const what = (KINDS[edit.type] ?? (() => gettext("A change")))(edit);
  const whole = message ? filled(gettext("%(what)s of message %(index)s"), { what, index: message.index }) : what;
  const text = edit.type === "append" ? edit.value.map(({ mes }) => mes).join(" ") : edit.value;
  return item(`${whole}${typeof text === "string" ? `: ${shortened(text)}` : ""}`);
}

const shortened = (text) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);

function item(text) {
  const entry = document.createElement("li");
  entry.textContent = text;
  return entry;
}
