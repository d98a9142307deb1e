// Show next to the composer whether edits are saved, and list the unsaved ones on request.
const element = document.getElementById("sync-state");

const KINDS = {
  append: () => "Your new message",
  add_swipe: () => "Your new version",
  field: ({ field }) => (field === "mes" ? "Your edit" : "A change"),
  delete: () => "A deletion",
  metadata: () => "A change of the chat",
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
    this.#say(status === 404 ? "This chat no longer exists" : "You are signed out", this.#sync.edits.length);
    this.#list();
  }

  #wordsFor() {
    const { edits, waiting, blocked } = this.#sync;
    const unresolved = edits.length - waiting.length;
    if (blocked) return [blocked.status === 404 ? "This chat no longer exists" : "You are signed out", edits.length];
    if (this.#offline || !navigator.onLine) return ["Offline", waiting.length];
    if (unresolved) return [`${changes(unresolved)} ${unresolved === 1 ? "needs" : "need"} your decision`, 0];
    return [waiting.length ? "Saving …" : "Saved", 0];
  }

  #say(words, kept) {
    const text = kept ? `${words}: ${changes(kept)} ${kept === 1 ? "waits" : "wait"} on this device` : words;
    if (this.#words.textContent !== text) this.#words.textContent = text;
    element.classList.toggle("attention", text !== "Saved" && !text.startsWith("Saving"));
  }

  #list() {
    if (!element.open) return;
    const lines = this.#sync.edits.map((edit) => line(edit, this.#sync.message(edit.id)));
    element.querySelector("[data-list]").replaceChildren(...(lines.length ? lines : [item("Everything is saved.")]));
  }
}

const changes = (count) => `${count} change${count === 1 ? "" : "s"}`;

function line(edit, message) {
  const what = (KINDS[edit.type] ?? (() => "A change"))(edit);
  const where = message ? ` of message ${message.index}` : "";
  const text = edit.type === "append" ? edit.value.map(({ mes }) => mes).join(" ") : edit.value;
  return item(`${what}${where}${typeof text === "string" ? `: ${shortened(text)}` : ""}`);
}

const shortened = (text) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);

function item(text) {
  const entry = document.createElement("li");
  entry.textContent = text;
  return entry;
}
