// The recall card: what Loci remembered for a turn, below it.
import { button, element } from "./elements.js";
import { RECALL } from "./messages.js";

const CARD = "loci-card";
const BUSY = "…"; // said while Loci is asked

/** Show a card below each turn that has one. @param {import("./companion.js").Companion} companion */
export function drawCards(companion) {
  const { chat } = companion.context;
  for (const shown of document.querySelectorAll("#chat .mes[mesid]")) {
    const message = chat[Number(shown.getAttribute("mesid"))];
    const recall = companion.settings.cards && message?.is_user ? message.extra?.[RECALL] : undefined;
    const card = /** @type {HTMLElement | null} */ (shown.querySelector(`.${CARD}`));
    const state = recall && JSON.stringify(recall);
    if (card?.dataset.state === state) continue;
    const isOpen = card?.querySelector("details")?.open ?? false;
    card?.remove();
    if (recall) shown.querySelector(".mes_text")?.after(cardOf(companion, message, recall, { state, isOpen }));
  }
}

function cardOf(companion, message, recall, { state, isOpen }) {
  const note = element("small", { class: "loci-note", role: "status" });
  const act = (action) => actOn(companion, message, note, action);
  const summary = element("summary", {}, element("i", { class: "fa-solid fa-bookmark", "aria-hidden": "true" }), ` ${titleOf(recall)}`);
  const details = element("details", { open: isOpen }, summary, ...bodyOf(recall, act), note);
  const card = element("div", { class: CARD }, details);
  card.dataset.state = state;
  return card;
}

function titleOf({ deleted, count, tokens, edited, outdated }) {
  if (deleted) return "Nothing is recalled for this turn";
  const marks = [edited && "edited", outdated && "the turn has changed since"].filter(Boolean);
  return [`Recalled ${count} ${count === 1 ? "memory" : "memories"}`, `${tokens} tokens`, ...marks].join(" · ");
}

function bodyOf(recall, act) {
  const rerun = button("fa-rotate", "Run again", () => act((calls, ...place) => calls.rerunRecall(...place)));
  if (recall.deleted) return [element("div", { class: "loci-row" }, rerun)];
  const text = element("textarea", { class: "text_pole loci-text", value: recall.text, rows: 6, "aria-label": "What is told" });
  const entries = recall.memories.map(({ text: said, why }) =>
    element("li", {}, said, why ? element("small", { class: "loci-why" }, why) : null));
  const more = recall.left_out ? element("small", {}, `${recall.left_out} more had no room.`) : null;
  const save = button("fa-floppy-disk", "Save", () => act((calls, ...place) => calls.editRecall(...place, text.value)));
  const remove = button("fa-trash-can", "Delete", () => act((calls, ...place) => calls.deleteRecall(...place)));
  return [element("ul", {}, ...entries), more, text, element("div", { class: "loci-row" }, save, rerun, remove)];
}

/** Do something to the recall of a turn, and show what became of it. */
async function actOn(companion, message, note, action) {
  const { mirror, api, context } = companion;
  const id = mirror?.idOf(message);
  if (!id) { note.textContent = "Loci doesn't have this turn yet."; return; }
  if (note.textContent === BUSY) return;
  note.textContent = BUSY;
  try {
    const recall = await action(api.calls, mirror.chatId, id);
    if (recall) companion.keep(message, recall);
    else companion.keepDeleted(message);
    await context.saveChat();
  } catch (problem) {
    note.textContent = problem?.detail ?? "Loci can't be reached. Nothing was changed.";
  }
}
