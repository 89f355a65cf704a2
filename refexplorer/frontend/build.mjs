// Bundles one ES module per view into the package; `--watch` rebuilds on every change.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { build, context } from "esbuild";

const outdir = "../widgets/static";
const options = {
  entryPoints: {
    explorer: "src/explorer/index.tsx",
    editor: "src/editor/index.tsx",
    page: "src/page/index.tsx",
  },
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

if (process.argv.includes("--watch")) {
  await (await context(options)).watch();
} else {
  const { metafile } = await build(options);
  await writeFile(`${outdir}/LICENSES.txt`, await licences(metafile));
}
