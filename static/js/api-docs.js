// The library of the API's page has dark colours of its own, which follow those of Loci; and its elements, of which
// each button holds a link and the parts above the list of calls have no name, are made fit for screen readers.
const root = document.documentElement;
const system = window.matchMedia("(prefers-color-scheme: dark)");
const drawn = document.getElementById("swagger-ui");

/** Have the library's colours be those of the page. */
function follow() {
  const { theme } = root.dataset;
  root.classList.toggle("dark-mode", theme ? theme === "dark" : system.matches);
}

/** Name the parts of what was drawn, put its headings below that of the page, and leave buttons without links. */
function mend() {
  for (const part of drawn.querySelectorAll(".info, .schemes")) {
    const section = part.closest("section");
    if (section && !section.ariaLabel) section.ariaLabel = part.querySelector("h1, button")?.textContent.trim() ?? "";
  }
  for (const heading of drawn.querySelectorAll("h3.opblock-tag, section.models > h4")) heading.ariaLevel = "2";
  for (const link of drawn.querySelectorAll("button a[href]")) link.removeAttribute("href");
}

follow();
system.addEventListener("change", follow);
new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });
mend();
new MutationObserver(mend).observe(drawn, { childList: true, subtree: true });
