// The list of chats: follows what is written elsewhere, and counts the chats that are chosen.
import { follow } from "./sync/live.js";
import { filled, gettext } from "./words.js";

const DELAY = 300; // ms; several writes in a row are shown at once
const list = document.getElementById("shelf");
const beside = document.querySelector(".beside-list"); // next to a conversation
const bar = document.getElementById("organize");

const entryOf = (row) => row.querySelector(".entry");
const keyOf = (row) => entryOf(row)?.getAttribute("href");

/** Return the rows of the list as the server has them now, as many pages as are shown. */
async function fetchRows() {
  const size = Number(list?.dataset.pageSize) || Infinity;
  const pages = list ? Math.max(1, Math.ceil(list.querySelectorAll(".shelf-row").length / size)) : 1;
  const rows = new Map();
  for (let page = 1; page <= pages; page += 1) {
    const query = new URLSearchParams(list ? location.search : "everywhere=on");
    query.set("page", String(page));
    const reply = await fetch(`/?${query}`, { headers: { "HX-Request": "true" } });
    if (!reply.ok || reply.redirected) return null;
    rows.delete(undefined); // the link to the next page, if it is not the last
    const fragment = document.createElement("template");
    fragment.innerHTML = await reply.text();
    for (const row of fragment.content.children) rows.set(keyOf(row), row);
  }
  return rows;
}

/** Put rows in their order, and change only what differs: what one has focused, opened or chosen stays so. */
function show(rows) {
  const focused = document.activeElement;
  const focusedRow = focused.closest(".shelf-row");
  const old = new Map([...list.children].map((row) => [keyOf(row), row]));
  for (const [key, row] of old) if (!key || !rows.has(key)) row.remove();
  let before = list.firstElementChild;
  for (const [key, fresh] of rows) {
    const row = key && old.has(key) ? update(old.get(key), fresh) : fresh;
    if (row === before) before = row.nextElementSibling;
    else list.insertBefore(row, before);
    htmx.process(row);
  }
  if (focusedRow?.isConnected && focused !== document.activeElement) {
    const replaced = focused.matches("summary") ? ".menu summary" : ".entry";
    (focused.isConnected ? focused : focusedRow.querySelector(replaced)).focus({ preventScroll: true });
  }
  count();
}

function update(row, fresh) {
  for (const part of [".entry", ".menu:not([open])"]) {
    const [mine, theirs] = [row.querySelector(part), fresh.querySelector(part)];
    if (mine && theirs && !mine.isEqualNode(theirs)) mine.replaceWith(theirs);
  }
  return row;
}

function showBeside(rows) {
  const entries = [...rows.values()].map(entryOf).filter(Boolean);
  const current = beside.querySelector("[aria-current]")?.getAttribute("href");
  entries.find((entry) => entry.getAttribute("href") === current)?.setAttribute("aria-current", "page");
  const focused = beside.contains(document.activeElement) && document.activeElement.getAttribute("href");
  beside.replaceChildren(...entries.map((entry) => {
    const row = document.createElement("li");
    row.append(entry);
    htmx.process(row);
    return row;
  }));
  entries.find((entry) => entry.getAttribute("href") === focused)?.focus({ preventScroll: true });
}

async function refresh() {
  if (!(list ?? beside).checkVisibility()) return;
  const { search } = location;
  const rows = await fetchRows().catch(() => null); // offline: the next event tries again
  if (!rows) return;
  if (list && location.search !== search) return refresh(); // narrowed meanwhile: these are rows of another list
  if (list) show(rows);
  else showBeside(rows);
}

let timer;

function refreshSoon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, DELAY);
}

function count() {
  if (!bar) return;
  const chosen = list.querySelectorAll(":checked").length;
  bar.querySelector("[data-chosen]").textContent = chosen ? filled(gettext("%(count)s chosen"), { count: chosen }) : "";
  for (const button of bar.querySelectorAll("button")) button.disabled = !chosen; // their keys do nothing then
}

let last; // the box that was clicked last, from which Shift extends the choice

function chooseRange(event) {
  if (!event.target.matches?.("input[type=checkbox]")) return;
  const boxes = [...list.querySelectorAll("input[type=checkbox]")];
  const [from, to] = [boxes.indexOf(last), boxes.indexOf(event.target)].sort((a, b) => a - b);
  if (event.shiftKey && from >= 0) for (const box of boxes.slice(from, to + 1)) box.checked = event.target.checked;
  last = event.target;
  count();
}

if (list || beside) {
  const changed = (event) => { if (event === "chat" || event === "chats") refreshSoon(); };
  follow({ user: document.body.dataset.user }, changed, refreshSoon);
}

if (list && bar) {
  list.addEventListener("click", chooseRange);
  document.body.addEventListener("htmx:afterSwap", count);
  window.addEventListener("pageshow", count); // the browser may restore what was chosen
  count();
}
