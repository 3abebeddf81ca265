// Search and filters of the gallery, and of every long table: plain words, all of which must occur.
const box = /** @type {HTMLInputElement} */ (document.getElementById("find"));
const items = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-words]")]);
const picks = /** @type {HTMLSelectElement[]} */ ([...document.querySelectorAll("select[data-filter]")]);
const count = document.getElementById("count");
function filter() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let seen = 0;
  for (const item of items) {
    const fits = words.every((word) => item.dataset.words.includes(word)) && picks.every((pick) => !pick.value || (item.dataset[pick.dataset.filter] ?? "").split("|").includes(pick.value));
    item.hidden = !fits;
    if (fits) seen++;
  }
  count.textContent = `${seen} of ${items.length}`;
  const asked = new URLSearchParams([["q", box.value], ...picks.map((pick) => [pick.dataset.filter, pick.value])].filter(([, value]) => value));
  history.replaceState(null, "", asked.size ? `?${asked}` : location.pathname);
}
const asked = new URLSearchParams(location.search);
box.value = asked.get("q") ?? "";
for (const pick of picks) pick.value = asked.get(pick.dataset.filter) ?? "";
for (const one of [box, ...picks]) one.addEventListener("input", filter);
filter();
