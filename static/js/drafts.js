// Keep what is written in the composer, and not sent, on this device: it survives a reload, and goes once it is sent.
// Each tab has a draft of its own, which the next tab of the chat takes over when that one is gone.
import { newKey } from "./sync/transport.js";

const RELOAD = 1000; // ms until the page before has let go of its draft
const field = document.querySelector(".composer textarea");
const room = document.querySelector(".room");

function keep(name) {
  try {
    if (field.value.trim()) localStorage.setItem(name, field.value);
    else localStorage.removeItem(name);
    field.removeAttribute("data-keep");
  } catch {
    field.setAttribute("data-keep", ""); // the device keeps nothing, so the page asks before it is left
  }
}

function take(name) {
  const text = localStorage.getItem(name) ?? "";
  localStorage.removeItem(name);
  return text;
}

/** Own a name until the page is gone. @returns {Promise<boolean>} whether no other tab has it */
function own(name, options) {
  return new Promise((resolve) => {
    const forGood = new Promise(() => {});
    const held = (lock) => { resolve(Boolean(lock)); return lock ? forGood : undefined; };
    navigator.locks.request(name, options, held).catch(() => resolve(false));
  });
}

/** The name of this tab's draft: that of before a reload, unless the tab is a copy of another one. */
async function nameOfTab(chat) {
  if (!navigator.locks) return chat; // all tabs share a draft
  const before = sessionStorage.getItem(chat);
  if (before && await own(before, { signal: AbortSignal.timeout(RELOAD) })) return before;
  const name = `${chat}:${newKey()}`;
  sessionStorage.setItem(chat, name);
  await own(name, {});
  return name;
}

/** The draft of a tab that is gone, which is forgotten there. */
async function leftBehind(chat) {
  for (const name of Object.keys(localStorage).filter((key) => key.startsWith(`${chat}:`))) {
    const text = await navigator.locks?.request(name, { ifAvailable: true }, (lock) => lock && take(name));
    if (text) return text;
  }
  return "";
}

async function start() {
  const chat = `loci-draft:${document.body.dataset.user}:${room.dataset.chat}`;
  const name = await nameOfTab(chat);
  // A text that comes with the page was refused, and what is written by now is newer.
  field.value ||= localStorage.getItem(name) ?? "";
  if (!field.value) {
    const text = await leftBehind(chat);
    field.value ||= text;
  }
  field.addEventListener("input", () => keep(name));
  field.form.addEventListener("reset", () => queueMicrotask(() => keep(name)));
  keep(name);
}

if (field && room) start().catch(() => {}); // where nothing can be kept the page asks before it is left
