// What htmx can't tell a person by itself: that a request failed, or that the session has ended.
import { say } from "./menus.js";
import { gettext } from "./words.js";

document.body.addEventListener("htmx:beforeSwap", (event) => {
  // A view that wants a sign-in answers with the sign-in page, which is no part of this one.
  const path = new URL(event.detail.xhr.responseURL || location.href, location.href).pathname;
  if (path !== document.body.dataset.login) return;
  event.detail.shouldSwap = false;
  say(gettext("You have been signed out. Sign in in another tab, then try again: what you wrote is still here."), "error");
});

document.body.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  say(status === 404
    ? gettext("That is not here any more. Load the page again to see what is.")
    : gettext("That did not work. Nothing was changed, and what you wrote is still here. Try again."), "error");
});

document.body.addEventListener("htmx:sendError", () => {
  say(gettext("Loci can't be reached. What you wrote is still here: try again in a moment."), "error");
});
