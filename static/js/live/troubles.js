// Show conflicts and refused edits, which the user must resolve. Both texts are kept until then.
import { filled, gettext } from "../words.js";

const elsewhere = document.getElementById("troubles");
const clone = (name) => document.getElementById(`${name}-template`).content.cloneNode(true).firstElementChild;
const textOf = (value) => (typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value));

const WITH_TEXTS = new Set(["append", "add_swipe"]);

export class Troubles {
  #sync;
  #turns;
  #panels = new Map(); // key of the edit -> {id, panel}

  /** @param {import("../sync-client.js").ChatSync} sync @param {import("./turns.js").Turns} turns */
  constructor(sync, turns) {
    this.#sync = sync;
    this.#turns = turns;
  }

  /** Put every panel under its turn, or above the composer if that turn is not on the page. */
  place() {
    for (const { id, panel } of this.#panels.values()) {
      const home = (id && this.#turns.of(id)) || elsewhere;
      if (panel.parentElement !== home) home.append(panel);
    }
    elsewhere.hidden = elsewhere.childElementCount === 0;
  }

  conflict(detail) {
    const { id, edit, mine, theirs, resolve, discard } = detail;
    const panel = clone("conflict");
    const gone = edit.gone ?? false;
    const author = this.#authorOf(id);
    const isText = edit.type === "field" && edit.field === "mes";
    const settle = (action) => () => { action(); this.#settled(edit, id); };
    this.#head(panel, ...titleOf(edit, gone, this.#sync.message(id)));
    this.#side(panel, "mine", edit.type === "delete" ? "Deleted" : textOf(mine));
    this.#side(panel, "theirs", gone ? "Deleted" : textOf(theirs));
    const [keep, take, merge] = ["keep-mine", "take-theirs", "merge"].map((name) => panel.querySelector(`[data-${name}]`));
    take.addEventListener("click", settle(discard));
    keep.addEventListener("click", settle(() => (gone ? this.#appendAgain({ ...author, mes: mine }, discard) : resolve(mine))));
    keep.hidden = gone && typeof mine !== "string";
    if (gone) [keep.textContent, take.textContent] = [gettext("Add mine at the end"), gettext("Discard")];
    merge.hidden = gone || !isText;
    const field = merge.querySelector("textarea");
    field.defaultValue = textOf(mine);
    merge.querySelector("[data-save-merged]").addEventListener("click", settle(() => resolve(field.value)));
    this.#show(edit, id, panel);
  }

  refused({ edit, problem, retry, discard }) {
    const panel = clone("refused");
    const reasons = problem.errors?.map(({ detail }) => detail).join(" ") || problem.detail || problem.title;
    this.#head(panel, gettext("This was not saved."), filled(gettext("%(reasons)s Your text is kept here."), { reasons }));
    const text = WITH_TEXTS.has(edit.type) ? [edit.value].flat().map(({ mes }) => mes).join("\n\n") : textOf(edit.value);
    panel.querySelector("[data-text]").textContent = text;
    const settle = (action) => () => { action(); this.#settled(edit, edit.id); };
    panel.querySelector("[data-retry]").addEventListener("click", settle(retry));
    panel.querySelector("[data-discard]").addEventListener("click", settle(discard));
    this.#show(edit, edit.id, panel);
  }

  #head(panel, title, note) {
    panel.querySelector("[data-title]").textContent = title;
    panel.querySelector("[data-note]").textContent = note;
  }

  #side(panel, side, text) {
    panel.querySelector(`[data-side=${side}] [data-text]`).textContent = text;
  }

  #authorOf(id) {
    const turn = id && this.#turns.of(id);
    if (!turn) return { is_user: true };
    return { name: turn.querySelector(".speaker").textContent, is_user: turn.matches(".by-user") };
  }

  #appendAgain(message, discard) {
    this.#sync.append(message).catch(() => {});
    discard();
  }

  #show(edit, id, panel) {
    const old = this.#panels.get(edit.key)?.panel;
    const restoreFocus = old ? transferDraft(old, panel) : () => {};
    old?.remove();
    this.#panels.set(edit.key, { id, panel });
    this.place();
    if (id) this.#turns.refresh(id);
    restoreFocus();
  }

  #settled(edit, id) {
    this.#panels.get(edit.key)?.panel.remove();
    this.#panels.delete(edit.key);
    this.place();
    if (id) this.#turns.refresh(id);
  }
}

/** Move an unfinished merge to the panel that replaces `old`. Return a function that restores the focus. */
function transferDraft(old, panel) {
  const [oldMerge, newMerge] = [old, panel].map((element) => element.querySelector("[data-merge]"));
  if (!oldMerge?.open || !newMerge || newMerge.hidden) return () => {};
  const [from, to] = [oldMerge, newMerge].map((merge) => merge.querySelector("textarea"));
  newMerge.open = true;
  if (from.value !== from.defaultValue) to.value = from.value;
  if (document.activeElement !== from) return () => {};
  const [start, end] = [from.selectionStart, from.selectionEnd];
  return () => {
    to.focus({ preventScroll: true });
    to.setSelectionRange(start, end);
  };
}

function titleOf({ type, gone }, isGone, message) {
  const which = message ? filled(gettext("Message %(index)s"), { index: message.index }) : gettext("A message");
  if (gone || isGone) return [gettext("This message was deleted elsewhere while you changed it."), gettext("Your text is still here.")];
  if (type === "delete") return [filled(gettext("%(which)s, which you deleted, was changed elsewhere."), { which }), gettext("It is still here: choose.")];
  return [filled(gettext("%(which)s was changed here and elsewhere."), { which }), gettext("Nothing is lost: choose one, or combine both texts.")];
}
