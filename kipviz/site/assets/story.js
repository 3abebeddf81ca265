// A story's page: the stepper draws the stored run at once, and the model answers when it is here.
// @ts-expect-error: the build of the site puts the bundle here
import stepper from "./stepper.js";
import { unpack, whole } from "./unpack.js";

/** @import { Payload } from "../../widgets/front/types/payload" */
/** @import { Calls, Command, FileWish, Rest, Run, Shown, Waiting, Word } from "../../widgets/front/types/site" */

/** @param {string} id */
const $ = (id) => /** @type {HTMLElement & { value: string }} */ (document.getElementById(id));
const root = new URL("./", import.meta.url);
const page = document.body.dataset;
/** @type {Window & { laps?: Record<string, number>, model?: Model }} */
const shared = window; // what tests and a console read of this page
/** @type {Record<string, number>} */
const laps = (shared.laps = {});
/** @param {string} name */
const lap = (name) => (laps[name] ??= Math.round(performance.now()));
// A stepper draws when it knows its width, which it is told with the next frame.
/** @param {string} name */
const lapDrawn = (name) => requestAnimationFrame(() => requestAnimationFrame(() => lap(name)));
/** @param {number} n */
const MB = (n) => `${Math.round(n / 1e6)} MB`;
// What is not on this page is on no page: the model stays until the tab is closed.
const BLANK = { branches: [], selection: {}, answers: {}, revealed: [], reached: [], score: {}, all_lanes: false, presenter: false, views: {}, tool: "", tree: {}, notice: "", command: {}, answer: {}, step: 0, branch: 0, lines: [0, 0] };

// --- the model ---------------------------------------------------------------------------------------

class Distant {
  constructor() {
    /** @type {((data: Word) => void) | undefined} */
    this.onword = undefined;
    /** @type {Map<number, Waiting>} */
    this.waiting = new Map();
    /** @type {Worker | null} */
    this.worker = null;
    this.memory = 0;
    this.number = 0;
  }
  start() {
    this.worker ??= this.made();
    return this.worker;
  }
  made() {
    const worker = new Worker(new URL("worker.mjs", root), { type: "module" });
    worker.onmessage = ({ data }) => this.heard(data);
    worker.onerror = (event) => this.heard({ ready: false, wrong: event.message || "the worker could not start" });
    return worker;
  }
  /** @param {Word} data */
  heard(data) {
    const id = data.id ?? 0;
    const wait = this.waiting.get(id);
    if (data.memory) this.memory = data.memory;
    if (wait) {
      this.waiting.delete(id);
      if (data.wrong === undefined) wait.take(/** @type {never} */ (JSON.parse(data.told ?? "null")));
      else wait.refuse(new Error(data.wrong));
    } else this.onword?.(data);
  }
  /**
   * @template {keyof Calls} Name
   * @param {Name} what
   * @param {...string} args
   * @returns {Promise<Calls[Name]>}
   */
  call(what, ...args) {
    const worker = this.start();
    const id = ++this.number;
    return new Promise((take, refuse) => {
      this.waiting.set(id, { take, refuse });
      worker.postMessage({ id, do: what, args });
    });
  }
  /**
   * @param {string} what
   * @param {...(string | number)} args
   */
  post(what, ...args) {
    this.start().postMessage({ do: what, args });
  }
  end() {
    this.worker?.terminate();
    this.worker = null;
    for (const { refuse } of this.waiting.values()) refuse(new Error("Stopped."));
    this.waiting.clear();
  }
}

const python = new Distant();
/**
 * @param {string} words
 * @param {string} [kind]
 */
const state = (words, kind = "") => {
  $("state").textContent = words;
  $("state").dataset.kind = kind;
};
python.onword = (data) => {
  if (data.ready === false) state(`The model could not start: ${data.wrong}. The stored run still steps.`, "wrong");
  if (data.ready) {
    lap("model");
    state(`The model answers (${MB(data.memory ?? 0)}).`, "ready");
  }
  if (data.answer && shown) {
    shown.set("answer", JSON.parse(data.answer));
    lap("answer");
  }
  if (data.file && shown) shown.tell(JSON.parse(data.file));
};

// --- what stands in for Jupyter --------------------------------------------------------------------------

class Model {
  /** @param {Shown & typeof BLANK} values */
  constructor(values) {
    /** @type {Record<string, unknown> & Shown & typeof BLANK} */
    this.values = values;
    /** @type {Map<string, Array<(told?: unknown) => void>>} */
    this.heard = new Map();
    /** @type {number | undefined} */
    this.asked = undefined;
    this.later = 0;
  }
  /** @param {string} name */
  get(name) {
    return this.values[name];
  }
  /**
   * @param {string} name
   * @param {unknown} value
   */
  set(name, value) {
    if (this.values[name] === value) return;
    Object.assign(this.values, { [name]: value });
    for (const listener of [...(this.heard.get(`change:${name}`) ?? [])]) listener();
  }
  /**
   * @param {string} name
   * @param {(told?: unknown) => void} listener
   */
  on(name, listener) {
    this.heard.set(name, [...(this.heard.get(name) ?? []), listener]);
  }
  /**
   * @param {string} name
   * @param {(told?: unknown) => void} listener
   */
  off(name, listener) {
    this.heard.set(name, (this.heard.get(name) ?? []).filter((other) => other !== listener));
  }
  /** @param {unknown} content */
  tell(content) {
    for (const listener of [...(this.heard.get("msg:custom") ?? [])]) listener(content);
  }
  /** @param {FileWish} wish */
  send({ do: what, id, what: kind, branch, step }) {
    if (what === "file") python.post("file", id, kind, branch, step);
  }
  save_changes() {
    const command = /** @type {Command} */ (this.values.command);
    if (command.id !== undefined && (command.do === "stop" || command.id !== this.asked)) {
      this.asked = command.id;
      if (command.do === "stop") python.post("stop");
      else opened.then(
        () => python.post("ask", JSON.stringify(command)),
        (error) => this.set("answer", { id: command.id, error: error.message }),
      );
    }
    this.later ||= setTimeout(() => this.follow(), 150); // a browser refuses an address that changes too often
  }
  follow() {
    const { step, branch, payload } = this.values;
    this.later = 0;
    if (shown !== this) return; // another run has been opened meanwhile
    const under = design && design !== bakedUnder ? `design=${encodeURIComponent(design)}&` : "";
    const here = branch || "left" in payload || linked ? location.hash : `#${under}step=${step}`;
    if (here !== location.hash && here) history.replaceState(null, "", here);
  }
}

/** @type {Model | null} */
let shown = null;
/** @type {(() => void) | null} */
let close = null;
let linked = "";
/** @type {Promise<unknown>} */
let opened = Promise.resolve();
let design = "";
let bakedUnder = "";

/** @param {Shown} told */
function show(told) {
  close?.();
  const model = (shown = shared.model = new Model({ ...BLANK, ...told }));
  $("stepper").replaceChildren();
  close = stepper.render({ model, el: $("stepper") });
  /** @type {HTMLElement | null} */ ($("stepper").querySelector(".kv"))?.focus({ preventScroll: true });
  // The title as the stepper shows it: with the outcome only when the question was answered.
  const entitle = () => {
    const heading = $("stepper").querySelector("h2")?.textContent || ("untold" in told.payload && told.payload.untold) || told.payload.title;
    document.title = `${heading} · kipviz`;
    $("title").textContent = heading;
  };
  entitle();
  model.on("change:revealed", () => queueMicrotask(entitle)); // the stepper writes its title first
}

/**
 * Shows another payload of the same run; where its reader stands and what is open stay.
 * @param {Payload} payload
 */
function exchange(payload) {
  const before = shown;
  show({ ...before?.values, payload });
  if (shown) shown.asked = before?.asked;
}

const place = () => {
  const words = new URLSearchParams(location.hash.slice(1));
  return Math.max(0, Number.parseInt(words.get("step") ?? "0", 10) || 0);
};
const wantedDesign = () => new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B")).get("design") ?? "";
const isLink = () => /^#kv\d+\./.test(location.hash);
const name = page.story || decodeURIComponent(new URLSearchParams(location.search).get("story") ?? "") || (location.pathname.match(/\/story\/([^/]+)\.html$/)?.[1] ?? "");

/** @param {string} part */
async function stored(part) {
  const answer = await fetch(new URL(`runs/${name}${part}.json`, root));
  if (!answer.ok) throw new Error(String(answer.status));
  return unpack(await answer.json());
}

/** @param {string} text */
async function openLink(text) {
  linked = text;
  state("The model is loading; it then opens the shared step …");
  const told = await python.call("link", text);
  show({ ...told });
  design = told.payload.design.name;
  $("design").value = design;
  lap("link");
  if (told.changes.length) state(`The model has changed since this link was made: ${told.changes.join("; ")}.`, "wrong");
  else state(`The model answers (${MB(python.memory)}).`, "ready");
}

/** @param {string} wanted */
async function openStory(wanted) {
  const told = await python.call("open", name, wanted);
  design = told.payload.design.name;
  return told;
}

// --- the page's own controls -------------------------------------------------------------------------------

/** @param {() => Promise<unknown>} work */
const attempt = async (work) => {
  try {
    await work();
  } catch (error) {
    state(String(error instanceof Error ? error.message : error), "wrong");
  }
};

$("share").onclick = () => attempt(async () => {
  const field = /** @type {HTMLInputElement | null} */ ($("stepper").querySelector(".kv-link-text"));
  let link = field?.value;
  if (!link) {
    if (!field?.offsetParent) shown?.set("tool", "share");
    for (let n = 0; n < 20 && !link; n++) {
      await new Promise((go) => setTimeout(go, 60));
      link = /** @type {HTMLInputElement | null} */ ($("stepper").querySelector(".kv-link-text"))?.value;
    }
  }
  const home = new URL(name ? `story/${name}.html` : "open.html", root);
  home.hash = link || location.hash;
  history.replaceState(null, "", home.href);
  try {
    await navigator.clipboard.writeText(home.href);
    state("Copied the address of this step.", "ready");
  } catch {
    state("The address bar holds the address of this step.", "ready");
  }
});
$("design").onchange = () => attempt(async () => {
  state("The model plays the story …");
  linked = "";
  const run = openStory($("design").value);
  opened = run;
  show({ ...(await run) });
  state(`The model answers (${MB(python.memory)}).`, "ready");
});
$("compare").onclick = () => attempt(async () => {
  const other = $("other").value;
  state(`Comparing ${design} and ${other} …`);
  show({ payload: await python.call("compare", name, design, other) });
  state(`${design} beside ${other}. Choose a design to return to one run.`, "ready");
});
const searching = new Distant();
$("search").onclick = () => attempt(async () => {
  $("search").hidden = true;
  $("stop").hidden = false;
  $("found").textContent = `Searching ${name} under ${design}: at most 50,000 states, about 120 MB …`;
  try {
    const told = await searching.call("search", name, design, $("faults").value);
    const links = told.examples.map((one) => {
      const a = Object.assign(document.createElement("a"), { href: `${new URL("open.html", root).href}#${one.link}`, textContent: `${one.property} breaks after ${one.steps} steps` });
      const item = document.createElement("li");
      item.append(a);
      return item;
    });
    const list = document.createElement("ul");
    list.append(...links);
    $("found").replaceChildren(`${told.sentence} Memory: ${MB(searching.memory)}.`, list);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    $("found").textContent = why === "Stopped." ? "The search was stopped, and its memory is free again." : why;
  } finally {
    $("search").hidden = false;
    $("stop").hidden = true;
  }
});
$("stop").onclick = () => searching.end();

// --- begin ---------------------------------------------------------------------------------------------

async function begin() {
  /** @type {Run | null} */
  let told = null;
  if (name) {
    try {
      told = { payload: /** @type {Payload} */ (await stored("")), step: place() };
    } catch {
      state("The stored run is not here; the model plays the story …");
    }
  }
  if (told && !isLink()) {
    show({ ...told });
    lapDrawn("drawn");
    design = bakedUnder = told.payload.design.name;
  }
  // The run is drawn; the rest of it comes, and the model loads behind it.
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go, 50)));
  let complete = false;
  if (shown && told) {
    try {
      told.payload = whole(told.payload, /** @type {Rest} */ (await stored(".rest")));
      complete = true;
      exchange(told.payload);
      lapDrawn("whole");
    } catch {
      state("The rest of the stored run is not here; the model plays the story …");
    }
  }
  if (isLink()) {
    opened = openLink(location.hash.slice(1));
    await opened;
  } else if (name) {
    const wanted = wantedDesign();
    const other = wanted && wanted !== bakedUnder;
    state(other ? `The model is loading (8 MB, once); it then plays the story under ${wanted}.` : "The model is loading (8 MB, once). The run already steps.");
    const at = place();
    let run = openStory(other ? wanted : "");
    opened = run;
    let refused = "";
    const fresh = await run.catch((error) => {
      refused = error.message;
      opened = run = openStory("");
      return run;
    });
    if (other && !refused) show({ ...fresh, step: at });
    else if (!complete) shown ? exchange(fresh.payload) : show({ ...fresh });
    else if (JSON.stringify(fresh.payload) !== JSON.stringify(told?.payload)) throw new Error("The stored run is of another version of the model: load this page again.");
    lap("opened");
    if (refused) state(`This is the story under ${design}: ${refused}`, "wrong");
    else state(`The model answers (${MB(python.memory)}).`, "ready");
  } else state("Paste a permalink behind #, or choose a story in the gallery.");
  const names = await python.call("designs");
  for (const id of ["design", "other"]) $(id).replaceChildren(...names.map((one) => new Option(one, one)));
  if (design && !names.includes(design)) $("design").append(new Option(design, design));
  $("design").value = design;
  $("other").value = names.find((one) => one !== design && (page.designs ?? "").split(" ").includes(one)) ?? names.find((one) => one !== design) ?? "";
  for (const one of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll(".tools [disabled]"))) one.disabled = false;
  // What the model was made of is kept now, for a visit without a network.
  if ("serviceWorker" in navigator) await navigator.serviceWorker.register(new URL("sw.js", root)).catch(() => {});
  lap("tools");
}

addEventListener("hashchange", () => attempt(async () => {
  if (isLink() && location.hash.slice(1) !== linked) await (opened = openLink(location.hash.slice(1)));
  else if (shown && !isLink()) shown.set("step", place());
}));
attempt(begin);
