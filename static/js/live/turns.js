// Keep the turns on the page up to date, without moving what the user reads or replacing what they edit.
import { fetchPart } from "./requests.js";
import { filled, ngettext } from "../words.js";

const MAX_SINGLE_FETCHES = 8; // more changed turns are fetched together
const NEAR_END = 120; // px

const list = document.getElementById("messages");
const scroller = document.getElementById("scroller");
const unsent = document.getElementById("unsent");
const pill = document.getElementById("new-below");
const blank = document.getElementById("unsent-template");

const shown = () => [...list.querySelectorAll(".turn[data-id]")];
const tail = () => document.getElementById("tail");
const showsEnd = () => !tail().querySelector("[data-near]");
const endOfShown = () => Number(tail().querySelector("[name=next]").value);
const atEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END;
const toEnd = () => { scroller.scrollTop = scroller.scrollHeight; };
const MARGIN = 20; // turns read beyond those shown while somebody writes in one, which others may have moved
const isBusy = (turn) => turn.querySelector(".editor, textarea:focus, input:focus") !== null;
const isTracked = (turn) => "tracked" in turn.dataset;
const isSame = (a, b) => a.dataset.rev === b.dataset.rev && a.dataset.index === b.dataset.index;

export class Turns {
  onShown = () => {};
  #sync;
  #url;
  #pending = { ids: new Set(), end: false, all: false };
  #running = false;
  #below = 0;
  #own = new Set(); // ids of messages written on this page

  /** @param {import("../sync-client.js").ChatSync} sync @param {string} url of the chat's page */
  constructor(sync, url) {
    this.#sync = sync;
    this.#url = url;
    this.#track(shown());
    // htmx adds windows on scrolling, and replaces a turn after an action of its menu.
    document.body.addEventListener("htmx:afterSwap", ({ detail }) => this.#swapped(detail.xhr));
    pill.addEventListener("click", () => (showsEnd() ? toEnd() : location.assign(this.#url)));
    scroller.addEventListener("scroll", () => atEnd() && this.#showBelow(0), { passive: true });
    this.showUnsaved();
  }

  /** @param {XMLHttpRequest} [reply] that brought what is new on the page */
  #swapped(reply) {
    dropRepeated();
    this.#track(shown());
    this.showUnsaved();
    this.onShown();
    // Indexes in a window that was rendered from another state of the chat don't match those already on the page. The change
    // event that follows may name only messages that the window has already brought.
    const rev = reply?.getResponseHeader("Loci-Rev");
    if (!rev || Number(rev) === this.#sync.state?.rev) return;
    this.#pending.all = true;
    this.#refresh();
    this.#sync.lookForChanges(); // or each window would be of another state, until the stream tells of it
  }

  /** Return the element of a message, if it is on the page. @param {string} id */
  of(id) {
    return list.querySelector(`.turn[data-id="${CSS.escape(id)}"]`);
  }

  /** Update turns after a change by others, or after the server has completed one made here. */
  changed({ messages, deleted, reload }) {
    for (const message of messages) this.#changedOne(message);
    for (const id of deleted) if (this.of(id)) this.#pending.all = true;
    if (reload || deleted.length) this.#pending.all = true;
    this.#refresh();
  }

  #changedOne({ id, index, rev }) {
    const turn = id && this.of(id);
    if (turn && Number(turn.dataset.index) !== index) this.#pending.all = true;
    else if (turn && Number(turn.dataset.rev) !== rev) this.#pending.ids.add(id);
    else if (!turn && index >= endOfShown()) this.#pending.end = true;
    else if (!turn) this.#pending.all = true;
  }

  /** Update turns after the user's edits were saved. */
  saved(edits) {
    for (const { type, id } of edits) {
      if (type === "append" || type === "insert") this.#pending.end = true;
      if (type === "delete" || type === "move") this.#pending.all = true;
      else if (id) this.#pending.ids.add(id);
    }
    if (edits.some(({ type }) => type === "append")) window.htmx.trigger(document.body, "written");
    this.#refresh();
  }

  /** Scroll to the user's new messages. @param {string[]} ids of those that are stored now */
  showOwn(ids) {
    for (const id of ids) this.#own.add(id);
    if (showsEnd()) toEnd();
    else if (ids.length) location.assign(this.#url);
  }

  /** Fetch a turn again. @param {string} id */
  refresh(id) {
    this.#pending.ids.add(id);
    this.#refresh();
  }

  /** Show texts that are not saved yet in place of the server's. */
  showUnsaved() {
    const stayed = atEnd();
    const edits = this.#sync.waiting;
    for (const { type, field, id, value } of edits) {
      const text = type === "add_swipe" ? value.mes : type === "field" && field === "mes" ? value : null;
      const prose = text !== null && this.of(id)?.querySelector(".prose");
      if (prose) showPlain(prose, text);
    }
    for (const { type, id } of edits) if (type === "delete") this.of(id)?.setAttribute("data-going", "");
    const added = edits.filter(({ type }) => type === "append").flatMap(({ value }) => value);
    unsent.replaceChildren(...added.map(unsentTurn));
    unsent.hidden = added.length === 0;
    if (stayed && added.length) toEnd();
  }

  /** Show a reply as it comes, and stay at the end of the chat. @param {Element} prose @param {string} html from the server */
  showText(prose, html) {
    const stayed = atEnd();
    prose.innerHTML = html;
    if (stayed) toEnd();
  }

  async #refresh() {
    if (this.#running) return;
    this.#running = true;
    await null; // collect the changes of one turn of the event loop, to fetch them together
    try {
      for (let pending = this.#takePending(); pending; pending = this.#takePending()) await this.#fetch(pending);
    } finally {
      this.#running = false;
    }
  }

  #takePending() {
    const { ids, end, all } = this.#pending;
    this.#pending = { ids: new Set(), end: false, all: false };
    return ids.size || end || all ? { ids, end, all: all || ids.size > MAX_SINGLE_FETCHES } : null;
  }

  async #fetch({ ids, end, all }) {
    if (all) return this.#fetchAll();
    for (const id of ids) await this.#fetchOne(id);
    if (end) await this.#fetchEnd();
  }

  async #fetchOne(id) {
    const parts = this.of(id) && (await fetchPart(`${this.#url}messages/${id}/`));
    const turn = this.of(id);
    if (parts?.length && turn && !isBusy(turn)) this.#put(() => turn.replaceWith(parts[0]));
  }

  async #fetchEnd() {
    if (!showsEnd()) return this.#showBelow(this.#below + 1);
    const parts = await fetchPart(`${this.#url}window/?after=${endOfShown() - 1}`);
    if (!parts || !showsEnd()) return;
    const known = new Set(shown().map((turn) => turn.dataset.id));
    const added = parts.filter((part) => !known.has(part.dataset.id));
    this.#put(() => { tail().replaceWith(...added); }, added);
  }

  async #fetchAll() {
    const turns = shown();
    const from = Number(turns[0]?.dataset.index ?? 0);
    const to = showsEnd() ? 1e8 : endOfShown() + (turns.some(isBusy) ? MARGIN : 0);
    const parts = await this.#read(from, to);
    if (!parts) return;
    const old = new Map(shown().map((turn) => [turn.dataset.id, turn]));
    const added = parts.filter((part) => part.matches(".turn") && !old.has(part.dataset.id));
    this.#put(() => arrange(parts.map((part) => this.#kept(old.get(part.dataset.id), part))), added);
  }

  /** Return the turns from an index up to another one, or to the chat's end, with the edges around them; null on failure. */
  async #read(from, to) {
    const all = [];
    for (let at = from, isLast = false; !isLast;) {
      const parts = await fetchPart(`${this.#url}turns/?from=${at}&to=${to}`); // no more than one reply holds
      const end = parts?.find(({ id }) => id === "tail");
      if (!end) return null;
      const next = Number(end.querySelector("[name=next]").value);
      isLast = next >= to || next === at || !end.querySelector("[data-near]");
      const isInner = (part) => part.matches(".edge") && (part === end ? !isLast : at > from);
      all.push(...parts.filter((part) => !isInner(part)));
      at = next;
    }
    return all;
  }

  /** Return the turn to keep on the page: the old one if it is unchanged or being edited, else the new one. */
  #kept(old, part) {
    if (!old || (!isBusy(old) && !isSame(old, part))) return part;
    if (!isSame(old, part)) {
      Object.assign(old.dataset, { index: part.dataset.index, rev: "" }); // its text is outdated
      old.id = part.id;
      old.querySelector(".message").id = `m-${part.dataset.index}`;
    }
    return old;
  }

  /**
   * Change the list, and keep the focus on its message and the scroll position: at the end if it was there, else at the
   * first visible turn.
   */
  #put(change, added = []) {
    const stayed = atEnd() && showsEnd();
    const anchor = stayed ? null : shown().find((turn) => turn.getBoundingClientRect().bottom > scroller.getBoundingClientRect().top);
    const top = anchor?.getBoundingClientRect().top;
    const focused = document.activeElement?.closest(".turn[data-id]");
    change();
    if (focused && !focused.isConnected) this.of(focused.dataset.id)?.querySelector(".message")?.focus({ preventScroll: true });
    for (const part of list.children) if (!part.dataset.live) this.#activate(part);
    this.showUnsaved();
    if (stayed) toEnd();
    else if (anchor?.isConnected) scroller.scrollTop += anchor.getBoundingClientRect().top - top;
    const newCount = added.filter((part) => part.matches(".turn") && !this.#own.has(part.dataset.id)).length;
    if (newCount) this.#showBelow(stayed ? 0 : this.#below + newCount);
    this.#showTotal();
    this.onShown();
    document.body.dispatchEvent(new CustomEvent("turns"));
  }

  #activate(part) {
    part.dataset.live = "on";
    window.htmx.process(part);
    if (part.matches(".turn")) this.#track([part]);
  }

  #track(turns) {
    this.#sync.track(turns.filter((turn) => !isTracked(turn)).map((turn) => {
      turn.dataset.tracked = "";
      return JSON.parse(turn.querySelector(":scope > script").textContent);
    }));
  }

  #showBelow(below) {
    this.#below = below;
    pill.hidden = below === 0;
    pill.textContent = filled(ngettext("%(count)s new message ↓", "%(count)s new messages ↓", below), { count: below });
  }

  #showTotal() {
    const { total } = tail().dataset;
    if (total !== "0") scroller.querySelector(":scope > .empty")?.remove();
    document.querySelector("[data-count]").textContent = filled(ngettext("%(count)s message", "%(count)s messages", Number(total)), { count: total });
  }
}

/**
 * Make `parts` the list's children. Those already in it are not removed, so that they keep the focus, and no turn is
 * removed in which somebody writes.
 */
function arrange(parts) {
  const wanted = new Set(parts);
  for (const part of [...list.children]) if (!wanted.has(part) && !isBusy(part)) part.remove();
  let cursor = list.firstElementChild;
  for (const part of parts) {
    while (cursor && !wanted.has(cursor)) cursor = cursor.nextElementSibling;
    if (part === cursor) cursor = cursor.nextElementSibling;
    else list.insertBefore(part, cursor);
  }
}

/**
 * Remove added turns that are on the page already: places have changed since their window was asked for. What is on the
 * page stays, since somebody may write in it, and is updated by the change itself.
 */
function dropRepeated() {
  const [old, added] = [shown().filter(isTracked), shown().filter((turn) => !isTracked(turn))];
  const known = new Set(old.map((turn) => turn.dataset.id));
  for (const turn of added) if (known.has(turn.dataset.id)) turn.remove();
}

function showPlain(prose, text) {
  if (prose.matches(".plain") && prose.textContent === text) return;
  prose.classList.add("plain");
  prose.textContent = text;
}

function unsentTurn({ mes, name, is_user: isUser }) {
  const turn = blank.content.cloneNode(true).firstElementChild;
  turn.classList.toggle("by-user", isUser);
  turn.querySelector(".speaker").textContent = name;
  showPlain(turn.querySelector(".prose"), mes);
  return turn;
}
