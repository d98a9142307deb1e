// The recap after an absence: open in one tab of the chat, closed in all.
const slot = document.querySelector("[data-recap]");

function dismissed(dialog) {
  return new Promise((resolve) => {
    dialog.addEventListener("close", resolve, { once: true });
    new MutationObserver((_, observer) => {
      if (dialog.isConnected) return;
      observer.disconnect();
      resolve();
    }).observe(slot, { childList: true });
  });
}

async function open(dialog) {
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    dialog.querySelector("form").requestSubmit();
  });
  // The browser gives the lock to one tab, until that closes.
  await navigator.locks.request(`recap:${slot.getAttribute("hx-get")}`, { ifAvailable: true }, async (lock) => {
    if (!lock) {
      dialog.remove();
      return;
    }
    dialog.showModal();
    await dismissed(dialog);
  });
}

slot?.addEventListener("htmx:afterSwap", ({ target }) => {
  const dialog = slot.querySelector("dialog:not([open])");
  if (target === slot && dialog) open(dialog);
});
