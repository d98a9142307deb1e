// The library of the API's page has dark colours of its own, which follow those of Loci.
const root = document.documentElement;
const system = window.matchMedia("(prefers-color-scheme: dark)");

/** Have the library's colours be those of the page. */
function follow() {
  const { theme } = root.dataset;
  root.classList.toggle("dark-mode", theme ? theme === "dark" : system.matches);
}

follow();
system.addEventListener("change", follow);
new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });
