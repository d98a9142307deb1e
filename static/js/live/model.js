// Show whose model replies in the chat when it was chosen in another tab or by a program.
import { follow } from "../sync/live.js";
import { headers } from "./requests.js";

/** @param {HTMLElement} room */
export function followModel(room) {
  const look = async () => {
    const menu = room.querySelector(".model-menu");
    if (!menu || menu.open) return; // one that is open is being chosen from
    const nameOf = (part) => part?.querySelector(".model-name").textContent;
    const before = nameOf(menu);
    const url = menu.contains(document.activeElement) ? `${menu.dataset.url}?focused` : menu.dataset.url;
    await window.htmx.ajax("GET", url, { source: menu, target: menu, swap: "outerHTML" });
    if (nameOf(room.querySelector(".model-menu")) !== before) window.htmx.trigger(document.body, "model-chosen");
  };
  // Also once the stream opens: it may have been chosen since the page was made.
  follow({ user: document.body.dataset.user, headers }, (event) => event === "chats" && look(), look);
}
