/** The frame of the served page: its header, and the screen where a set is chosen. */

import { useEffect, useState } from "preact/hooks";

import type { Host } from "../shared/host.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Sentence } from "../shared/parts.tsx";
import { watchTheme, type Theme } from "../shared/theme.ts";

type View = "start" | "explorer" | "editor";

interface DemoSet {
  title: string;
  source: string;
}

const VIEWS: Record<Exclude<View, "start">, string> = { explorer: "Explorer", editor: "Template editor" };

export function Page({ host }: ViewProps) {
  const view = useShared<View>(host, "view");
  const title = useShared<string>(host, "title");
  return (
    <div class={`page ${view}`}>
      <header class="bar top">
        <b class="brand">refexplorer</b>
        {title !== "" && (
          <nav aria-label="Views">
            {(Object.keys(VIEWS) as (keyof typeof VIEWS)[]).map((name) => (
              <button
                key={name}
                class="nav"
                aria-current={view === name ? "page" : undefined}
                onClick={() => host.set("view", name)}
              >
                {VIEWS[name]}
              </button>
            ))}
          </nav>
        )}
        <span class="space" />
        {view !== "start" && (
          <button class="button" onClick={() => host.set("view", "start")}>Open another set</button>
        )}
        <ThemeButton />
      </header>
      {view === "start" && <Start host={host} title={title} />}
    </div>
  );
}

function Start({ host, title }: { host: Host; title: string }) {
  const sets = useShared<DemoSet[]>(host, "sets");
  const problem = useShared<string>(host, "problem");
  const opening = useShared<string>(host, "opening");
  const [source, setSource] = useState("");
  const open = (chosen: string) => host.send({ op: "open", source: chosen });
  return (
    <main class="start">
      <h1>Look into a reference set</h1>
      <p class="quiet lead">
        A reference set maps Zarr keys to bytes that lie elsewhere. Choose one to browse its keys, see where
        each leads, draw its data, and edit its templates. Opening reads only the set itself.
      </p>
      <form
        class="source"
        onSubmit={(event) => {
          event.preventDefault();
          if (source.trim() !== "") open(source.trim());
        }}
      >
        <label for="source">Path or URL of a reference set (JSON, gzip, zstd, or a parquet folder)</label>
        <div class="source-line">
          <input
            id="source"
            spellcheck={false}
            autocomplete="off"
            placeholder="combined.json"
            value={source}
            onInput={(event) => setSource(event.currentTarget.value)}
          />
          <button class="button main-button" disabled={opening !== ""}>Open</button>
        </div>
      </form>
      {problem !== "" && <p class="failed" role="alert"><span aria-hidden="true">✕</span> <Sentence text={problem} /></p>}
      <p class="quiet said" role="status">{opening === "" ? "" : `Opening ${opening} …`}</p>
      {sets.length > 0 && (
        <section aria-labelledby="examples">
          <h2 id="examples">Examples, shipped with their data</h2>
          <ul class="sets">
            {sets.map((set) => (
              <li key={set.source}>
                <button class="set" disabled={opening !== ""} onClick={() => open(set.source)}>
                  <span class="set-title">{set.title}</span>
                  <code class="quiet">{set.source.split(/[\\/]/).pop()}</code>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {title !== "" && (
        <button class="button back" onClick={() => host.set("view", "explorer")}>Back to {title}</button>
      )}
    </main>
  );
}

/** Light or dark for the whole page; remembered by the browser. */
function ThemeButton() {
  const [theme, setTheme] = useState<Theme>("light");
  useEffect(() => {
    const chosen = localStorage.getItem("refexplorer-theme");
    if (chosen !== null) document.documentElement.dataset["theme"] = chosen;
    return watchTheme(setTheme);
  }, []);
  const other = theme === "light" ? "dark" : "light";
  const flip = () => {
    localStorage.setItem("refexplorer-theme", other);
    document.documentElement.dataset["theme"] = other;
  };
  return (
    <button class="button" onClick={flip} aria-label={`Use ${other} colours`}>
      {theme === "light" ? "◐ Dark" : "◑ Light"}
    </button>
  );
}

/** A value that Python and the page share. */
function useShared<T>(host: Host, name: string): T {
  const [value, setValue] = useState(() => host.get(name) as T);
  useEffect(() => host.onChange(name, (next) => setValue(next as T)), [host, name]);
  return value;
}
