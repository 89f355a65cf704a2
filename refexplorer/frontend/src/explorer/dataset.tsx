/** The set as xarray shows it, in a frame of its own where nothing of it can run or load. */

import { useEffect, useRef, useState } from "preact/hooks";

import { Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import { Waited } from "../shared/asking.tsx";
import { useTheme } from "../maps/board.tsx";
import type { ExplorerSession } from "./session.ts";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

export function Dataset({ session }: { session: ExplorerSession }) {
  const { dataset, hello } = useStore(session);
  useEffect(() => void session.describe(), [session]);
  return (
    <section>
      <h3>As opened by xarray, from the metadata alone</h3>
      {dataset === null && <p class="quiet">Opening the metadata …</p>}
      <Waited waiting={session.describing} />
      {dataset?.sentence && (
        <p class="prose quiet">
          <Sentence text={dataset.sentence} />
        </p>
      )}
      {dataset?.html && (
        <Frame html={dataset.html} arrays={hello!.arrays} choose={(path) => session.run(session.reveal(path))} />
      )}
    </section>
  );
}

interface FrameProps {
  html: string;
  /** Those whose names lead to them. */
  arrays: string[];
  choose(path: string): void;
}

function Frame({ html, arrays, choose }: FrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const theme = useTheme(frame);
  const [height, setHeight] = useState(200);
  const measure = () => {
    const body = frame.current?.contentDocument?.body;
    if (!body) return;
    const observer = new ResizeObserver(() => setHeight(body.scrollHeight + 8));
    observer.observe(body);
    lead(body, arrays, choose);
  };
  const colours = theme === "dark" ? "color:#e6edf3;background:transparent" : "color:#1f2328;background:transparent";
  const page = `<!doctype html><html data-theme="${theme}" style="color-scheme:${theme || "light"}"><head>
    <meta http-equiv="Content-Security-Policy" content="${POLICY}">
    <style>body{margin:0;font:13px system-ui,sans-serif;${colours}}
      [role=link]{color:${theme === "dark" ? "#6cb0ff" : "#0b62c4"};cursor:pointer}[role=link]:focus-visible{outline:2px solid}</style></head><body>${html}</body></html>`;
  return (
    <iframe
      ref={frame}
      class="dataset"
      title="The dataset as xarray shows it"
      sandbox="allow-same-origin"
      srcdoc={page}
      style={{ height: `${height}px` }}
      onLoad={measure}
    />
  );
}

/** Makes links of the names of variables; no script runs inside of the frame, so it is done from here. */
function lead(body: HTMLElement, arrays: string[], choose: (path: string) => void): void {
  for (const name of body.querySelectorAll<HTMLElement>(".xr-var-name")) {
    const group =
      name.closest(".xr-group-box-contents")?.querySelector(":scope > label")?.firstChild?.textContent ?? "";
    const path = [...group.split("/"), name.textContent ?? ""].filter(Boolean).join("/");
    if (!arrays.includes(path)) continue;
    name.setAttribute("role", "link");
    name.tabIndex = 0;
    name.onclick = () => choose(path);
    name.onkeydown = ({ key }) => key === "Enter" && choose(path);
  }
}
