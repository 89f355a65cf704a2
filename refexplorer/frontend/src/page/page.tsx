/** The frame of the served page: its header, and the screen where a set is chosen. */

import { useEffect, useState } from "preact/hooks";

import type { Host } from "../shared/host.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Sentence } from "../shared/parts.tsx";
import { watchTheme, type Theme } from "../shared/theme.ts";
import { followAddress } from "./address.ts";
import { useLost } from "./connection.ts";
import { useShared } from "./shared.ts";
import { Opening, Start } from "./start.tsx";

const VIEWS = { explorer: "Explorer", editor: "Template editor", exercises: "Exercises" };
type View = keyof typeof VIEWS | "start";

export function Page({ host }: ViewProps) {
  const view = useShared<View>(host, "view");
  const notice = useShared<string>(host, "notice");
  useEffect(() => followAddress(host), [host]);
  return (
    <div class={`page ${view}`}>
      <header class="bar top">
        <b class="brand">refexplorer</b>
        <Navigation host={host} view={view} />
        <span class="space" />
        {view !== "start" && <Opening host={host} />}
        {view !== "start" && (
          <button class="button" onClick={() => host.send({ op: "turn", view: "start" })}>Open another set</button>
        )}
        <ThemeButton />
      </header>
      {useLost() && (
        <p class="lost" role="alert">
          The page has lost its server: nothing that you do arrives any more.{" "}
          <button class="button" onClick={() => location.reload()}>Load it again</button>
        </p>
      )}
      {notice !== "" && <p class="notice" role="status"><Sentence text={notice} /></p>}
      {view === "start" && <Start host={host} />}
    </div>
  );
}

/** The views of the page, always in the same places; there is something to explore once a set is open. */
function Navigation({ host, view }: { host: Host; view: View }) {
  const title = useShared<string>(host, "title");
  const names = Object.keys(VIEWS) as (keyof typeof VIEWS)[];
  return (
    <nav aria-label="Views">
      {names.map((name) => (
        <button
          key={name}
          class="nav"
          data-name={VIEWS[name]}
          aria-current={view === name ? "page" : undefined}
          disabled={name === "explorer" && title === ""}
          onClick={() => host.send({ op: "turn", view: name })}
        >
          {VIEWS[name]}
        </button>
      ))}
    </nav>
  );
}

/** Light or dark for the whole page; remembered by the browser. */
function ThemeButton() {
  const [theme, setTheme] = useState<Theme>("light");
  useEffect(() => {
    const chosen = localStorage.getItem("refexplorer-theme");
    if (chosen !== null) document.documentElement.dataset["theme"] = chosen;
    return watchTheme((appearance) => setTheme(appearance.theme));
  }, []);
  const other = theme === "light" ? "dark" : "light";
  const flip = () => {
    localStorage.setItem("refexplorer-theme", other);
    document.documentElement.dataset["theme"] = other;
  };
  return (
    <button class="button theme" onClick={flip} aria-label={`Use ${other} colours`}>
      {theme === "light" ? "◐" : "◑"} <span>{theme === "light" ? "Dark" : "Light"}</span>
    </button>
  );
}
