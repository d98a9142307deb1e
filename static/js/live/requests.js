// Fetch parts of the page that the server renders.
import { say } from "../menus.js";
import { gettext } from "../words.js";

/** Return the CSRF header. Read the cookie each time, since signing in elsewhere changes it. @returns {object} */
export function headers() {
  const [, token = ""] = /(?:^|; )csrftoken=([^;]*)/.exec(document.cookie) ?? [];
  return { "X-CSRFToken": token };
}

const RETRIES = [1000, 2000, 4000, 8000]; // ms to wait before each, where the server fails or can't be reached

/**
 * Return the elements of a rendered part. @param {string} url
 * @returns {Promise<Element[] | null>} null if it can't be fetched: the next change tries again
 */
export async function fetchPart(url) {
  const response = await fetchPatiently(url);
  if (!response?.ok) return null;
  if (new URL(response.url).pathname === document.body.dataset.login) {
    say(gettext("You have been signed out. Sign in in another tab: your text is still here."), "error");
    return null;
  }
  const template = document.createElement("template");
  template.innerHTML = await response.text();
  return [...template.content.children];
}

/** Nothing else would bring what is missing: the change that asked for this part is told once. */
async function fetchPatiently(url) {
  for (const wait of [...RETRIES, null]) {
    const response = await fetch(url, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (wait === null || (response && response.status < 500)) return response;
    await new Promise((resolve) => { setTimeout(resolve, wait); });
  }
}
