// Edit messages and write new versions of them in place, without the server, so that it works offline too.
import { gettext } from "../words.js";

const template = document.getElementById("editor-template");

export class Editors {
  #sync;
  #turns;
  #replies;
  #open = new Map(); // form -> {id, before, article}; before: null for a new version

  /**
   * @param {import("../sync-client.js").ChatSync} sync @param {import("./turns.js").Turns} turns
   * @param {import("./replies.js").Replies} replies
   */
  constructor(sync, turns, replies) {
    this.#sync = sync;
    this.#turns = turns;
    this.#replies = replies;
  }

  has(form) {
    return this.#open.has(form);
  }

  canOpen(turn) {
    return this.#sync.message(turn.dataset.id) !== undefined;
  }

  /** @param {HTMLElement} turn */
  open(turn) {
    this.#show(turn, this.#sync.message(turn.dataset.id).mes);
  }

  /** Open an editor for a new version of the message. @param {HTMLElement} turn */
  openNew(turn) {
    this.#show(turn, null);
  }

  #show(turn, before) {
    const article = turn.querySelector(".message");
    const { id, index } = turn.dataset;
    const form = template.content.cloneNode(true).firstElementChild;
    const [field, label] = [form.querySelector("textarea"), form.querySelector("label")];
    form.id = `m-${index}`;
    field.id = label.htmlFor = `text-${index}`;
    label.textContent = turn.querySelector(".speaker").textContent + (before === null ? gettext(", another version") : "");
    field.defaultValue = before ?? "";
    form.querySelector("[data-reply-again]").hidden = before === null || !this.#replies.canAnswerAgain(turn);
    form.querySelector("[data-cancel]").addEventListener("click", () => this.#close(form));
    this.#open.set(form, { id, before, article });
    article.replaceWith(form);
    field.focus({ preventScroll: true });
  }

  /** @param {HTMLFormElement} form @param {boolean} replyAgain whether a reply to the new text is asked for */
  save(form, replyAgain) {
    const turn = form.closest(".turn");
    const { id, before } = this.#open.get(form);
    const text = form.querySelector("textarea").value;
    if (!text.trim()) return;
    this.#close(form);
    // Rejections are handled by the "refused" event.
    if (before === null) return this.#sync.addSwipe(id, { mes: text.trim() }).catch(() => {});
    this.#sync.edit(id, { mes: text }, { base: { mes: before } });
    const sent = this.#sync.flush();
    // A text that could not be sent, or that others have changed meanwhile, is not answered.
    if (replyAgain) sent.then(() => this.#sync.waiting.some((edit) => edit.id === id) || this.#replies.answerAgain(turn));
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
