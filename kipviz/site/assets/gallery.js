// Search and filters of the gallery, and of every long table: plain words, all of which must occur.
const box = /** @type {HTMLInputElement} */ (document.getElementById("find"));
const items = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-words]")]);
const picks = /** @type {HTMLSelectElement[]} */ ([...document.querySelectorAll("select[data-filter]")]);
const count = /** @type {HTMLElement} */ (document.getElementById("count"));
/** @param {HTMLSelectElement} pick */
const called = (pick) => pick.dataset.filter ?? "";
function filter() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let seen = 0;
  for (const item of items) {
    const fits = words.every((word) => item.dataset.words?.includes(word)) && picks.every((pick) => !pick.value || (item.dataset[called(pick)] ?? "").split("|").includes(pick.value));
    item.hidden = !fits;
    if (fits) seen++;
  }
  count.textContent = `${seen} of ${items.length}`;
  const asked = new URLSearchParams([["q", box.value], ...picks.map((pick) => [called(pick), pick.value])].filter(([, value]) => value));
  history.replaceState(null, "", asked.size ? `?${asked}` : location.pathname);
}
const asked = new URLSearchParams(location.search);
box.value = asked.get("q") ?? "";
for (const pick of picks) pick.value = asked.get(called(pick)) ?? "";
for (const one of [box, ...picks]) one.addEventListener("input", filter);
filter();
