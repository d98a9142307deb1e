// Edit messages in place, without the server, so that it works offline too.
const template = document.getElementById("editor-template");

export class Editors {
  #sync;
  #turns;
  #open = new Map(); // form -> {id, before, article}

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
    const before = this.#sync.message(id).mes;
    const form = template.content.cloneNode(true).firstElementChild;
    const [field, label] = [form.querySelector("textarea"), form.querySelector("label")];
    form.id = `m-${index}`;
    field.id = label.htmlFor = `text-${index}`;
    label.textContent = turn.querySelector(".speaker").textContent;
    field.defaultValue = before;
    form.querySelector("[data-cancel]").addEventListener("click", () => this.#close(form));
    this.#open.set(form, { id, before, article });
    article.replaceWith(form);
    field.focus({ preventScroll: true });
  }

  save(form) {
    const { id, before } = this.#open.get(form);
    const text = form.querySelector("textarea").value;
    if (!text.trim()) return;
    this.#close(form);
    this.#sync.edit(id, { mes: text }, { base: { mes: before } });
    this.#sync.flush();
    // If the text is unchanged, nothing is saved, so no event will render the message again.
    if (!this.#sync.waiting.some((edit) => edit.id === id)) this.#turns.refresh(id);
  }

  #close(form) {
    const { id, article } = this.#open.get(form);
    this.#open.delete(form);
    article.id = form.id;
    form.replaceWith(article);
    article.focus({ preventScroll: true });
    // Changes by others are not shown while the editor is open: show them now.
    if (this.#sync.message(id)?.rev !== Number(article.closest(".turn")?.dataset.rev)) this.#turns.refresh(id);
    this.#turns.showUnsaved();
  }
}
