/** The frame of the served page: its header, and the screen where a set is chosen. */

import { useEffect } from "preact/hooks";

import type { Host } from "../shared/host.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Button, Sentence } from "../shared/parts.tsx";
import { ThemeButton } from "./themebutton.tsx";
import { followAddress } from "./address.ts";
import { DropOver } from "./drop.tsx";
import { Lesson } from "./lesson.tsx";
import { ask, useLost, useShared } from "./wire.ts";
import { Opening, Start } from "./start.tsx";

export function Page({ host }: ViewProps) {
  const view = useShared(host, "view");
  const notice = useShared(host, "notice");
  const title = useShared(host, "title");
  useEffect(() => followAddress(host), [host]);
  // The text that `page.html` shows while loading is behind the page, where a screen reader still finds it.
  useEffect(() => document.querySelector("p.waiting")?.remove(), []);
  useTitle(host, view);
  return (
    <div class={`page ${view}`}>
      <header class="bar top">
        <b class="brand">refexplorer</b>
        <Navigation host={host} view={view} />
        <span class="space" />
        {view !== "start" && <Opening host={host} />}
        {view !== "start" && <Button text="Open another set" onClick={() => ask(host, "turn", { view: "start" })} />}
        <ThemeButton />
      </header>
      {useLost() && (
        <p class="lost" role="alert">
          The connection to the server was lost, so nothing that you do here takes effect.{" "}
          <Button text="Reload the page" onClick={() => location.reload()} />
        </p>
      )}
      {notice !== "" && (
        <p class="notice" role="status">
          <Sentence text={notice} />
        </p>
      )}
      <DropOver host={host} title={title} on={view === "explorer"} />
      <Lesson host={host} hidden={view !== "explorer"} />
      {view === "start" && <Start host={host} />}
    </div>
  );
}

/** Names the set and the key in the title of the page, by which a person finds its tab again. */
function useTitle(host: Host, view: string): void {
  const [title, place] = [useShared(host, "title"), useShared(host, "place")];
  const screens = useShared(host, "screens");
  const key = new URLSearchParams(place.address).get("key") ?? "";
  const screen = screens.find(({ name }) => name === view)?.label ?? "";
  const parts = view === "explorer" ? [key, title] : view === "start" ? [] : [screen, title];
  useEffect(() => {
    document.title = [...parts, "refexplorer"].filter(Boolean).join(" · ");
  }, [parts.join(" · ")]);
}

/** The views of the page, always in the same places; there is something to explore once a set is open. */
function Navigation({ host, view }: { host: Host; view: string }) {
  const title = useShared(host, "title");
  const screens = useShared(host, "screens");
  return (
    <nav aria-label="Views">
      {screens.map(({ name, label }) => (
        <Button
          text={label}
          key={name}
          class="nav"
          data-name={label}
          aria-current={view === name ? "page" : undefined}
          disabled={name === "explorer" && title === ""}
          onClick={() => ask(host, "turn", { view: name })}
        />
      ))}
    </nav>
  );
}
