// Correcting a message in place: without the server, so that it works offline too.
const template = document.getElementById("editor-template");

export class Editors {
  #sync;
  #turns;
  #open = new Map(); // form -> {id, began, article}

  /** @param {import("../sync-client.js").ChatSync} sync @param {import("./turns.js").Turns} turns */
  constructor(sync, turns) {
    this.#sync = sync;
    this.#turns = turns;
  }

  has(form) {
    return this.#open.has(form);
  }

  canOpen(turn) {
    return this.#sync.message(turn.dataset.id) !== undefined;
  }

  /** @param {Element} turn */
  open(turn) {
    const article = turn.querySelector(".message");
    const { id, index } = turn.dataset;
    const began = this.#sync.message(id).mes;
    const form = template.content.cloneNode(true).firstElementChild;
    const [field, label] = [form.querySelector("textarea"), form.querySelector("label")];
    form.id = `m-${index}`;
    field.id = label.htmlFor = `text-${index}`;
    label.textContent = turn.querySelector(".speaker").textContent;
    field.defaultValue = began;
    form.querySelector("[data-cancel]").addEventListener("click", () => this.#close(form));
    this.#open.set(form, { id, began, article });
    article.replaceWith(form);
    field.focus({ preventScroll: true });
  }

  save(form) {
    const { id, began } = this.#open.get(form);
    const text = form.querySelector("textarea").value;
    if (!text.trim()) return;
    this.#close(form);
    this.#sync.edit(id, { mes: text }, { base: { mes: began } });
    this.#sync.flush();
    // Where the text is as it was, nothing will be saved that could show it again.
    if (!this.#sync.waiting.some((edit) => edit.id === id)) this.#turns.refresh(id);
  }

  #close(form) {
    const { id, article } = this.#open.get(form);
    this.#open.delete(form);
    article.id = form.id;
    form.replaceWith(article);
    article.focus({ preventScroll: true });
    // Whatever was written meanwhile left the editor alone.
    if (this.#sync.message(id)?.rev !== Number(article.closest(".turn")?.dataset.rev)) this.#turns.refresh(id);
    this.#turns.layOver();
  }
}
