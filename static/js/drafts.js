// Keep what is written in the composer, and not sent, on this device: it survives a reload, and goes once it is sent.
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

function kept(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

if (field && room) {
  const name = `loci-draft:${document.body.dataset.user}:${room.dataset.chat}`;
  // A text that comes with the page was refused, and is newer.
  if (!field.value) field.value = kept(name);
  field.addEventListener("input", () => keep(name));
  field.form.addEventListener("reset", () => queueMicrotask(() => keep(name)));
  keep(name);
}
