// Connect the conversation page to the sync client: save edits on the device, send them, and show the changes of others.
import { ChatSync } from "./sync/chat.js";
import { Editors } from "./live/editors.js";
import { takeImages } from "./live/images.js";
import { SyncState } from "./live/state.js";
import { Troubles } from "./live/troubles.js";
import { Turns } from "./live/turns.js";
import { Replies } from "./live/replies.js";
import { followRuns } from "./live/runs.js";
import { headers } from "./live/requests.js";
import { say, sayWith } from "./menus.js";
import { filled, gettext } from "./words.js";

const room = document.querySelector(".room");
const composer = document.getElementById("composer");

function start() {
  const sync = new ChatSync({ chatId: room.dataset.chat, user: document.body.dataset.user, headers });
  const turns = new Turns(sync, room.dataset.url);
  const troubles = new Troubles(sync, turns);
  const state = new SyncState(sync);
  const replies = new Replies(room, turns);
  const editors = new Editors(sync, turns, replies);
  turns.onShown = () => { troubles.place(); };
  sync.addEventListener("changed", ({ detail }) => {
    turns.changed(detail);
    if (detail.chat) retitle(detail.chat);
  });
  sync.addEventListener("saved", ({ detail }) => turns.saved(detail.edits));
  sync.addEventListener("conflict", ({ detail }) => troubles.conflict(detail));
  sync.addEventListener("refused", ({ detail }) => troubles.refused(detail));
  sync.addEventListener("status", ({ detail }) => { state.show(detail); turns.showUnsaved(); });
  sync.addEventListener("blocked", ({ detail }) => state.block(detail));
  intercept(sync, turns, editors, replies);
  composer.elements.speaker.addEventListener("change", play);
  takeImages(composer, room.dataset.chat);
  followRuns(room);
  // The user may have signed in again in another tab.
  document.addEventListener("visibilitychange", () => sync.blocked && !document.hidden && sync.resume());
  sync.open({ integrity: room.dataset.integrity, rev: Number(room.dataset.rev) });
}

function retitle({ title }) {
  document.title = document.title.replace(room.querySelector("h1").textContent, () => title);
  room.querySelector("h1").textContent = title;
}

// In the capturing phase, so that neither htmx nor the browser also sends what the sync client handles.
function intercept(sync, turns, editors, replies) {
  const handle = (event, action) => {
    if (!action) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    action();
  };
  document.addEventListener("submit", (event) => handle(event, actionOf(event, sync, turns, editors, replies)), true);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-edit], [data-version]");
    const turn = link && !event.ctrlKey && !event.metaKey && link.closest(".turn[data-id]");
    handle(event, turn && editors.canOpen(turn) && (() => {
      link.closest(".menu")?.removeAttribute("open");
      if ("version" in link.dataset) editors.openNew(turn);
      else editors.open(turn);
    }));
  }, true);
}

function actionOf({ target: form, submitter }, sync, turns, editors, replies) {
  if (form === composer) return () => write(sync, turns, replies);
  if (editors.has(form)) return () => editors.save(form, Boolean(submitter && "replyAgain" in submitter.dataset));
  const turn = form.closest(".turn[data-id]");
  if (!turn || !form.dataset.sync) return null;
  const { id, index } = turn.dataset;
  const close = () => form.closest(".menu")?.removeAttribute("open");
  return {
    swipe: () => sync.selectSwipe(id, Number(submitter.value)),
    "delete-swipe": () => { close(); sync.deleteSwipe(id, Number(form.dataset.at)); },
    hide: () => { close(); sync.edit(id, { is_system: !("hidden" in turn.dataset) }); sync.flush(); },
    "leave-out": () => { close(); leaveOut(sync, id, index, !("leftOut" in turn.dataset)); },
    remove: () => { close(); remove(sync, id, index); },
  }[form.dataset.sync];
}

function write(sync, turns, replies) {
  const [text, speaker] = [composer.elements.text, composer.elements.speaker];
  if (!text.value.trim()) return text.focus();
  const isUser = "role" in speaker.selectedOptions[0].dataset;
  const during = replies.written;
  const stored = sync.append({
    mes: text.value.trim(),
    name: speaker.selectedOptions[0].textContent,
    is_user: isUser,
    send_date: new Date().toISOString(),
  });
  // Rejections are handled by the "refused" event.
  stored.then((messages) => {
    turns.showOwn(messages.map(({ id }) => id));
    if (isUser) replies.answer(during);
  }, () => {});
  text.value = "";
  text.dispatchEvent(new Event("input")); // drops the draft: the text is in the outbox now
  turns.showOwn([]);
  document.getElementById("composer-errors").replaceChildren();
}

/** Play the chat as the persona that is chosen in the composer, from the next message on. */
async function play({ target: { selectedOptions: [option] } }) {
  if (!("persona" in option.dataset)) return;
  const response = await fetch(`/api/v1/chats/${room.dataset.chat}/`, {
    method: "PATCH",
    headers: { ...headers(), "Content-Type": "application/json" },
    body: JSON.stringify({ persona: option.value }),
  }).catch(() => null);
  await response?.text().catch(() => null); // a reply that nobody reads keeps its connection
  if (!response?.ok) say(filled(gettext("The chat could not be changed to %(name)s. Messages are still written under that name."), { name: option.textContent }), "warning");
}

function leaveOut(sync, id, index, out) {
  const set = (value) => { sync.editExtra(id, { loci: { leave_out: value ? true : null } }); sync.flush(); };
  set(out);
  const done = out ? gettext("Message %(index)s is left out of memory.") : gettext("Message %(index)s is taken back into memory.");
  sayWith(filled(done, { index }), gettext("Undo"), () => set(!out));
}

async function remove(sync, id, index) {
  const reply = await sync.delete(id, { alone: true });
  if (reply === undefined) return; // it was changed elsewhere, and stays
  const done = filled(gettext("Message %(index)s is deleted."), { index });
  if (reply?.applied) sayWith(done, gettext("Undo"), () => undo(sync, reply.rev, index));
  else say(done); // by somebody else before
}

async function undo(sync, rev, index) {
  const problem = await sync.undo(rev).then(() => null, (failure) => failure);
  if (problem) say(filled(gettext("Message %(index)s stays deleted. %(reason)s"), { index, reason: problem.detail ?? "" }), "warning");
}

if (room && composer) start();
