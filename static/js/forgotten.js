// Show on an open page that memories were deleted elsewhere: in another tab, by a program, or by an instance.
import { countChosen } from "./chosen.js";
import { follow } from "./sync/live.js";
import { headers } from "./live/requests.js";
import { gettext } from "./words.js";

const CLOCKS = 600_000; // ms by which the clocks of browser and server may differ

const cards = () => document.querySelectorAll("article.memory[id]");
let since = new Date(performance.timeOrigin - CLOCKS).toISOString();
let last = Promise.resolve();

async function look() {
  if (!cards().length) return;
  const response = await fetch(`/api/v1/memories/tombstones/?since=${encodeURIComponent(since)}`, { headers: headers() })
    .catch(() => null);
  if (!response?.ok) return; // the next event, or the next connection of the stream, tries again
  const { tombstones, until, complete } = await response.json();
  for (const { id } of tombstones) bury(document.getElementById(`memory-${id}`));
  since = until;
  if (!complete) await look();
}

/** @param {HTMLElement | null} card */
function bury(card) {
  if (!card?.matches("article.memory") || card.querySelector(".memory-gone")) return; // or it is being edited
  const words = document.createElement("p");
  words.className = "memory-gone";
  words.setAttribute("role", "status");
  words.textContent = gettext("Forgotten elsewhere.");
  card.replaceChildren(words);
  card.closest(".rail-line")?.querySelector(".rail-said").replaceChildren(gettext("Forgotten elsewhere."));
  card.parentElement.querySelector(":scope > input.choose")?.remove();
  countChosen();
}

// A reply that breaks off is read again at the next event.
const soon = () => { last = last.then(look).catch(() => {}); };

if (document.querySelector(".memory-list, .rail")) {
  follow({ user: document.body.dataset.user, headers }, (event) => event === "memories" && soon(), soon);
}
