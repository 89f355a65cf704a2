// Bundles one ES module per view into the package; `--watch` rebuilds on every change.
// Before that, the types of the messages are written: what Python says of them is in protocol.json.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { build, context } from "esbuild";
import { compile } from "json-schema-to-typescript";

const outdir = "../widgets/static";
// What has a bundle of its own has an index.tsx; hatch_build.py finds them likewise.
const entries = (await readdir("src", { recursive: true })).filter((path) => /^[^/\\]+[/\\]index\.tsx$/.test(path));
const options = {
  entryPoints: entries.map((path) => ({ in: `src/${path}`, out: path.split(/[/\\]/)[0] })),
  outdir,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  loader: { ".css": "text" },
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
  logLevel: "info",
};

/** The licences of the packages in the bundles, which have to travel with them. */
async function licences({ inputs }) {
  const folders = Object.keys(inputs).map((path) => path.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0]);
  const texts = [...new Set(folders)].filter(Boolean).sort().map(async (folder) => {
    const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
    const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    return `${name} ${version} (${license})\n\n${file ? await readFile(`${folder}/${file}`, "utf8") : ""}`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(78)}\n\n`);
}

/** The types of the messages, made of their JSON Schema. */
async function types() {
  const schema = JSON.parse(await readFile("generated/protocol.json", "utf8"));
  const text = await compile(schema, "Protocol", {
    additionalProperties: false,
    bannerComment: "/** The messages between the views and Python. Made by the build of what refexplorer/views/wire says. */",
    unreachableDefinitions: true,
  });
  await writeFile("generated/protocol.ts", text);
}

await types();
if (process.argv.includes("--watch")) {
  await (await context(options)).watch();
} else {
  const { metafile } = await build(options);
  await writeFile(`${outdir}/LICENSES.txt`, await licences(metafile));
}
