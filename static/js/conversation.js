// The conversation: scrolls to the requested message, loads more before the reader reaches an edge, keeps the position.
const room = document.querySelector(".room");
const scroller = document.getElementById("scroller");
const LOAD_MARGIN = "1500px 0px";

function watchEdges() {
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      window.htmx.trigger(target, "near");
    }
  }, { root: scroller, rootMargin: LOAD_MARGIN });
  const watch = () => scroller.querySelectorAll("[data-near]:not([data-watched])").forEach((edge) => {
    edge.dataset.watched = "";
    observer.observe(edge);
  });
  watch();
  return watch;
}

function firstInView() {
  const top = scroller.getBoundingClientRect().top;
  return [...scroller.querySelectorAll(".turn")].find((turn) => turn.getBoundingClientRect().bottom > top);
}

function toEnd() {
  scroller.scrollTop = scroller.scrollHeight;
}

function keepScrollPosition() {
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    if (!scroller.contains(event.detail.target)) return;
    const turn = firstInView();
    const top = turn?.getBoundingClientRect().top;
    const written = event.detail.requestConfig.elt.matches(".composer");
    // In a microtask, after the swap, since htmx sends no afterSwap event for an empty response.
    queueMicrotask(() => {
      if (written) toEnd();
      else if (turn?.isConnected) scroller.scrollTop += turn.getBoundingClientRect().top - top;
    });
  });
}

// Without JavaScript the list is laid out in reverse, so that it opens at its end. Restore the usual layout, in which
// content that expands pushes down what is below it.
function restoreLayout() {
  if (scroller.matches(".from-top")) return;
  scroller.classList.add("from-top");
  toEnd();
}

/** Return the first paragraph in view, how far below the upper edge it begins, or which part of it is above that. */
function placeInView() {
  const edge = scroller.getBoundingClientRect().top;
  const isInView = (part) => part.getBoundingClientRect().bottom > edge;
  const turn = firstInView();
  const paragraph = turn && ([...turn.querySelectorAll(".prose > *")].find(isInView) ?? turn);
  if (!paragraph) return null;
  const { top, height } = paragraph.getBoundingClientRect();
  return { paragraph, gap: Math.max(top - edge, 0), read: Math.max(edge - top, 0) / height };
}

function scrollTo({ paragraph, gap, read }) {
  const { top, height } = paragraph.getBoundingClientRect();
  scroller.scrollTop += top + read * height - gap - scroller.getBoundingClientRect().top;
}

// Whoever is at the end stays there when the view gets smaller, by a toast or by a text of several lines. Whoever reads
// elsewhere keeps the place when another width breaks the lines differently, as when a phone is turned.
function keepPlaceOnResize() {
  let [place, width, height] = [placeInView(), scroller.clientWidth, scroller.clientHeight];
  // By the larger of two heights: a scroll event can arrive after the view got smaller, but before the observer's. A larger
  // view stands at the end already.
  const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - Math.max(height, scroller.clientHeight) < 8;
  let atEnd = isAtEnd();
  let restored = null; // the position after a resize; to read the place there would add up what was rounded
  const remember = () => {
    if (scroller.clientWidth === width && scroller.scrollTop !== restored) place = placeInView();
  };
  // Where another width breaks the lines elsewhere, a scroll from before says nothing of the place.
  scroller.addEventListener("scroll", () => {
    if (scroller.clientWidth !== width) return;
    atEnd = isAtEnd();
    remember();
  }, { passive: true });
  new ResizeObserver(() => {
    if (!scroller.clientWidth) return; // hidden
    if (atEnd) toEnd();
    else if (scroller.clientWidth !== width && place?.paragraph.isConnected) {
      scrollTo(place);
      restored = scroller.scrollTop;
    }
    [width, height] = [scroller.clientWidth, scroller.clientHeight];
  }).observe(scroller);
  new ResizeObserver(remember).observe(document.getElementById("messages"));
}

function scrollToRequested() {
  const index = scroller.dataset.at;
  const message = index && document.getElementById(`m-${index}`);
  if (message) {
    message.scrollIntoView({ block: "center" });
    message.focus({ preventScroll: true });
  }
}

// At the lower edge a card would open out of sight, and so would its form; what a re-run changed stands at its head.
function showOpenedCards() {
  scroller.addEventListener("toggle", ({ target }) => {
    if (target.open && target.matches(".recall")) target.scrollIntoView({ block: "nearest" });
  }, true);
  // In a microtask, after that of keepScrollPosition, which would scroll back.
  scroller.addEventListener("htmx:afterSettle", ({ target }) => queueMicrotask(() => {
    if (target.matches(".recall-body")) target.closest(".recall").scrollIntoView({ block: "nearest" });
    target.querySelector?.(".recall-form")?.scrollIntoView({ block: "nearest" });
    target.querySelector?.(".recall-comparison")?.closest(".recall").scrollIntoView({ block: "start" });
    if (target.matches(".repair")) target.scrollIntoView({ block: "nearest" });
  }));
}

function watchViews() {
  room.addEventListener("click", (event) => {
    const tab = event.target.closest("[data-view-of]");
    if (!tab || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const again = tab.matches(".to-memory") && room.dataset.view === "memory";
    room.dataset.view = again ? "chat" : tab.dataset.viewOf;
    for (const other of room.querySelectorAll(".bottom-tabs [data-view-of]")) {
      if (other.dataset.viewOf === room.dataset.view) other.setAttribute("aria-current", "page");
      else other.removeAttribute("aria-current");
    }
  });
}

// Reload the sidebar when a run has ended. Not when one begins: it would move the text that somebody reads.
function watchRun() {
  const isActive = () => Boolean(document.querySelector(".run-progress.active"));
  let active = isActive();
  document.body.addEventListener("htmx:afterSettle", () => {
    const now = isActive();
    if (active && !now) window.htmx.trigger(document.body, "remembered");
    active = now;
  });
}

function watchEditors() {
  document.addEventListener("keydown", (event) => {
    const editor = event.key === "Escape" && event.target.closest?.(".editor");
    if (editor) editor.querySelector("[data-cancel]").click();
  });
  document.body.addEventListener("htmx:afterSwap", ({ detail: { elt, requestConfig } }) => {
    elt.querySelector?.("textarea[autofocus]")?.focus({ preventScroll: true });
    // Only a turn that replaced its editor: other loaded turns must not take the focus from a text field.
    const edited = elt.matches?.(".turn") && requestConfig.elt.closest(".editor");
    if (edited) elt.querySelector(".message")?.focus({ preventScroll: true });
  });
}

if (scroller) {
  // On this event, since htmx processes the edges on the same event, before this listener.
  document.addEventListener("DOMContentLoaded", () => {
    const watch = watchEdges();
    for (const event of ["htmx:afterSettle", "turns"]) document.body.addEventListener(event, watch);
  });
  restoreLayout();
  keepScrollPosition();
  scrollToRequested();
  keepPlaceOnResize();
  showOpenedCards();
  watchViews();
  watchRun();
  watchEditors();
}
