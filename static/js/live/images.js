// Upload images that are chosen, pasted or dropped on the composer, and put them into its text.
import { headers } from "./requests.js";
import { say } from "../menus.js";
import { filled, gettext } from "../words.js";

const TYPES = /^image\/(png|jpeg|webp|gif)$/;

/** @param {HTMLFormElement} composer @param {string} chat its id */
export function takeImages(composer, chat) {
  const { text } = composer.elements;
  const label = composer.querySelector("[data-images]");
  const input = label.querySelector("input");
  const take = (files) => addAll(files, chat, text, label);
  label.hidden = false;
  input.addEventListener("change", async () => {
    await take([...input.files]);
    input.value = "";
  });
  text.addEventListener("paste", (event) => {
    const images = imagesOf(event.clipboardData);
    if (!images.length) return;
    event.preventDefault();
    take(images);
  });
  // In the capturing phase, since elsewhere on the page a dropped file is imported.
  document.addEventListener("drop", (event) => {
    const images = isOver(composer, event) ? imagesOf(event.dataTransfer) : [];
    if (!images.length) return;
    event.preventDefault();
    take(images);
  }, true);
}

function imagesOf(transfer) {
  return [...(transfer?.files ?? [])].filter(({ type }) => TYPES.test(type));
}

function isOver(element, { clientX, clientY }) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return left <= clientX && clientX <= right && top <= clientY && clientY <= bottom;
}

async function addAll(files, chat, text, label) {
  label.setAttribute("aria-busy", "true");
  for (const file of files) {
    const address = await upload(file, chat);
    if (address) insert(text, `![${wordsFor(file)}](${address})`);
  }
  label.removeAttribute("aria-busy");
}

/** Return the address of the stored image, or null after saying why there is none. */
async function upload(file, chat) {
  const body = new FormData();
  body.append("file", file);
  const response = await fetch(`/api/v1/chats/${chat}/images/`, { method: "POST", headers: headers(), body }).catch(() => null);
  if (response?.ok) return (await response.json()).address;
  const problem = await response?.json().catch(() => null);
  const reason = problem?.errors?.[0]?.detail ?? problem?.detail ?? gettext("Loci can't be reached.");
  say(filled(gettext("%(name)s was not uploaded. %(reason)s"), { name: file.name, reason }), "error");
  return null;
}

/** Return the name of a file without its extension, and without what means something in Markdown. */
function wordsFor({ name }) {
  return name.replace(/\.\w+$/, "").replace(/[^\p{L}\p{N}]+/gu, " ").trim() || gettext("image");
}

function insert(text, words) {
  const before = text.value.slice(0, text.selectionStart);
  const gap = before && !before.endsWith("\n") ? "\n" : "";
  text.setRangeText(`${gap}${words}\n`, text.selectionStart, text.selectionEnd, "end");
  text.dispatchEvent(new Event("input", { bubbles: true })); // keeps the draft, and fits the height
  text.focus();
}
