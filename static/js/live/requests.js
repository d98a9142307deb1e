// Requests of the page itself, for the parts of it that the server renders.
import { say } from "../menus.js";

/** The cookie is read each time: signing in elsewhere changes it. @returns {object} */
export function headers() {
  const [, token = ""] = /(?:^|; )csrftoken=([^;]*)/.exec(document.cookie) ?? [];
  return { "X-CSRFToken": token };
}

/**
 * The elements of a rendered part. @param {string} url
 * @returns {Promise<Element[] | null>} null where it can't be had: a later change asks again
 */
export async function fetchPart(url) {
  const reply = await fetch(url, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!reply?.ok) return null;
  if (new URL(reply.url).pathname === document.body.dataset.login) {
    say("You have been signed out. Sign in in another tab: what you wrote is still here.", "error");
    return null;
  }
  const template = document.createElement("template");
  template.innerHTML = await reply.text();
  return [...template.content.children];
}
