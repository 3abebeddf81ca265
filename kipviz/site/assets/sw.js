// Keeps the site: the small pages and the model at the first visit, a story when it is opened. A story
// that was never opened is played by the model, on the page open.html.
/** @typedef {Event & { waitUntil(done: Promise<unknown>): void }} Lasting a service worker's event, which the types of a page do not have */
/** @typedef {Event & { request: Request, respondWith(answer: Promise<Response>): void }} Asked */
const scope = /** @type {Window & { skipWaiting(): Promise<void>, clients: { claim(): Promise<void> } }} */ (/** @type {unknown} */ (self));
const CACHE = "kipviz-{{version}}";
const FIRST = ["{{files}}"];
const root = new URL("./", scope.location.href);
scope.addEventListener("install", (event) => /** @type {Lasting} */ (event).waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FIRST)).then(() => scope.skipWaiting())));
scope.addEventListener("activate", (event) => /** @type {Lasting} */ (event).waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith("kipviz-") && name !== CACHE) await caches.delete(name);
  await scope.clients.claim();
})()));
/** @param {Request} request */
async function answer(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept) return kept;
  const story = request.mode === "navigate" && new URL(request.url).pathname.match(/\/story\/([^/]+)\.html$/);
  const played = () => Response.redirect(new URL(`open.html?story=${story && story[1]}`, root));
  try {
    const fresh = await fetch(request);
    if (fresh.ok) await cache.put(request, fresh.clone());
    return !fresh.ok && story ? played() : fresh;
  } catch (error) {
    if (story) return played();
    throw error;
  }
}
scope.addEventListener("fetch", (event) => {
  const { request } = /** @type {Asked} */ (event);
  if (request.method === "GET" && request.url.startsWith(root.href) && !request.url.startsWith(new URL("lite/", root).href)) /** @type {Asked} */ (event).respondWith(answer(request));
});
