// Prints, for each story named on stdin, the SHA-256 of its payload as Python in WebAssembly makes it.
// A line "campaign SCENARIO DESIGN FAULTS RUNS" prints the verdict rows of that campaign in a loop instead.
// node payloads.mjs RUNTIME_FOLDER
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const { loadPyodide } = await import(pathToFileURL(join(folder, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: `${folder}/` });
const extractDir = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
const { wheel } = JSON.parse(readFileSync(join(folder, "names.json"), "utf8"));
python.unpackArchive(new Uint8Array(readFileSync(join(folder, wheel))), "wheel", { extractDir });
python.unpackArchive(new Uint8Array(readFileSync(join(folder, "kipviz.zip"))), "zip", { extractDir });
python.runPython("import importlib; importlib.invalidate_caches()");
const desk = python.pyimport("kipviz.site.desk");
const campaign = python.runPython(`
import json
from kipviz.campaigns.loop import LoopCampaign
lambda scenario, design, faults, runs: json.dumps(LoopCampaign(scenario, design, faults, int(runs)).run().rows())
`);
for (const name of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const [asked, ...words] = name.split(" ");
  if (asked === "campaign") console.log(asked, campaign(...words));
  else console.log(name, createHash("sha256").update(desk.bake(name)).digest("hex"));
}
