/** The frame of the served page: its header, the lesson of a set, and the screen where a set is chosen. */

import { useEffect, useState } from "preact/hooks";

import type { Host } from "../shared/host.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Button, Sentence, Copy } from "../shared/parts.tsx";
import { ThemeButton } from "./themebutton.tsx";
import { followAddress } from "./address.ts";
import { DropOver } from "./drop.tsx";
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

export function Lesson({ host, hidden }: { host: Host; hidden: boolean }) {
  const { title, steps, next } = useShared(host, "lesson");
  const [step, go] = useState(0);
  useEffect(() => go(0), [title]);
  if (!steps?.[step]) return null;
  const [heading, text] = steps[step];
  const following = steps[step + 1]?.[0];
  return (
    <details class="lesson" aria-label={title} open hidden={hidden}>
      <summary>
        <b>{title}</b> ({step + 1} of {steps.length})
      </summary>
      <div class="lesson-step">
        <div aria-live="polite">
          <h2>{heading}</h2>
          {text.map((each) => (
            <p key={each}>
              <Marked text={each} />
            </p>
          ))}
        </div>
        <div class="lesson-ways">
          {following && <Button text={following} main onClick={() => go(step + 1)} />}
          {!following && <Copy text={text.join("\n\n")} label="Copy the text" />}
          {!following && next && <Button text="Next lesson" main onClick={() => ask(host, "open", { source: next })} />}
          {step > 0 && <Button text="Back" onClick={() => go(step - 1)} />}
        </div>
      </div>
    </details>
  );
}

/** Text with `code` and *names of buttons*. */
function Marked({ text }: { text: string }) {
  const parts = text.split(/(`[^`]+`|\*[^*]+\*)/);
  return (
    <>
      {parts.map((part, i) => {
        if (i % 2 === 0) return part;
        return part[0] === "`" ? <code key={i}>{part.slice(1, -1)}</code> : <b key={i}>{part.slice(1, -1)}</b>;
      })}
    </>
  );
}
