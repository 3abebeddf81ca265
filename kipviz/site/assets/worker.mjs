// The model: Pyodide, msgspec and kipviz, all from this site. One worker answers a page's wishes; a
// search has a worker of its own, which the page ends when somebody presses Stop.
// @ts-expect-error: the build of the site puts Pyodide here
import { loadPyodide } from "./runtime/pyodide.mjs";

/** @import { PageState } from "../../widgets/front/types/site" */

/** @param {string} name */
const bytes = async (name) => {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name} could not be loaded (${answer.status})`);
  return answer.arrayBuffer();
};

async function start() {
  const { wheel } = await (await fetch(new URL("./runtime/names.json", import.meta.url))).json();
  const parts = [bytes(`./runtime/${wheel}`), bytes("./runtime/kipviz.zip")];
  const python = await loadPyodide({ indexURL: new URL("./runtime/", import.meta.url).href });
  const extractDir = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
  python.unpackArchive(await parts[0], "wheel", { extractDir });
  python.unpackArchive(await parts[1], "zip", { extractDir });
  python.runPython("import importlib; importlib.invalidate_caches()");
  const module = python.pyimport("kipviz.site.desk");
  return { python, module, desk: module.PageState() };
}

const started = start();
let working = false;

/**
 * The last line of a Python error is its sentence.
 * @param {unknown} error
 */
const sentence = (error) => (String(error instanceof Error ? error.message : error).trim().split("\n").at(-1) ?? "").replace(/^[\w.]*(Error|Unplayable|Exception|BadLink|Unknown\w*|Bad\w*|NotEnabled): /, "");

/**
 * @param {PageState} desk
 * @param {string} first
 */
async function work(desk, first) {
  let said = first;
  working = JSON.parse(said).busy !== undefined;
  while (working) {
    postMessage({ answer: said });
    await new Promise((go) => setTimeout(go, 0)); // a Stop is heard here
    if (!working) return;
    said = desk.go_on();
    working = JSON.parse(said).busy !== undefined;
  }
  postMessage({ answer: said });
}

onmessage = async ({ data }) => {
  try {
    const { python, module, desk } = await started;
    const { id, do: what, args = [] } = data;
    const memory = python._module.HEAP8.length;
    if (what === "ask") await work(desk, desk.ask(args[0]));
    else if (what === "stop") {
      working = false;
      postMessage({ answer: desk.stop() });
    } else if (what === "file") postMessage({ file: desk.file(...args) });
    else {
      const owner = what === "open" || what === "link" ? desk : module;
      postMessage({ id, told: owner[what](...args), memory: Math.max(memory, python._module.HEAP8.length) });
    }
  } catch (error) {
    postMessage({ id: data.id, wrong: sentence(error) });
  }
};

started.then(
  ({ python }) => postMessage({ ready: true, memory: python._module.HEAP8.length }),
  (error) => postMessage({ ready: false, wrong: sentence(error) }),
);
