// Show the progress of the chat's run when one starts, wherever it was started, and its result when it ends.
import { follow } from "../sync/live.js";
import { headers } from "./requests.js";

/** @param {HTMLElement} room */
export function followRuns(room) {
  const { chat } = room.dataset;
  const slot = room.querySelector(".progress-slot");
  const url = slot.getAttribute("hx-get");
  const show = () => window.htmx.ajax("GET", `${url}?was_active`, { source: slot, target: slot, swap: "innerHTML" });
  const refresh = () => window.htmx.trigger(slot, "missed");
  follow({ user: document.body.dataset.user, headers }, (event, word) => event === "run" && word.chat === chat && show(), refresh);
}
