/** The middle where nothing is selected: a small picture of each data variable, the set as xarray shows it. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { placing, pixelsOf, tableOf } from "../preview/colours.ts";
import { cellsOf, line, PLAIN_LINE } from "../preview/plot.ts";
import { layout, range } from "../preview/slices.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import { bytes, value } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { ReadingModel } from "../shared/wire.ts";
import type { ExplorerSession } from "./session.ts";
import type { ShownProps } from "./view.ts";
import { type Thumbnail, Thumbnails } from "./thumbnails.ts";
import { Allow, Waited } from "../shared/access.tsx";
import { useAppearance } from "../maps/board.tsx";

export function SetView({ session, hello }: ShownProps) {
  const { shown } = useStore(session.of(Thumbnails));
  useEffect(() => {
    void session.firstRows.then(() => session.of(Thumbnails).draw(hello.variables));
  }, [session, hello.title, hello.variables.join()]);
  return (
    <>
      {shown.length > 0 && (
        <section>
          <h3>Data variables, the largest first</h3>
          <Consent session={session} shown={shown} />
          <ul class="thumbnails">
            {shown.map((each) => (
              <Picture key={each.path} of={each} go={() => session.run(session.reveal(each.path))} />
            ))}
          </ul>
        </section>
      )}
      <Dataset session={session} />
    </>
  );
}

/** One question for all pictures of a place. */
function Consent({ session, shown }: { session: ExplorerSession; shown: Thumbnail[] }) {
  const waiting = shown.filter(({ grant }) => grant !== undefined);
  const grant = waiting[0]?.grant;
  if (grant === undefined) return null;
  const size = waiting.reduce((sum, each) => sum + (each.grant === grant ? (each.bytes ?? 0) : 0), 0);
  return (
    <div class="offer consent">
      <Allow
        grant={grant}
        then={`: read ${bytes(size)} for pictures`}
        allow={() => session.run(session.of(Thumbnails).allow(grant))}
      />
    </div>
  );
}

const WIDE = 300;
const HIGH = 150;

function Picture({ of: { path, reading, values, why }, go }: { of: Thumbnail; go(): void }) {
  const box = useRef<HTMLSpanElement>(null);
  const domain = values && range(values);
  useLayoutEffect(() => {
    if (!reading || !values || !domain) return;
    const made = drawn(reading, values, domain);
    if (made) box.current!.replaceChildren(made);
  }, [reading, values]);
  return (
    <li>
      <Button class="thumbnail" onClick={go} title={`Show ${path || "/"}`}>
        <span class={`thumbnail-picture${why === null && !reading ? " waiting" : ""}`} ref={box} aria-hidden="true">
          {why !== null && <span class="quiet thumbnail-why">{why}</span>}
        </span>
        <span class="thumbnail-line">
          <b>{path || "/"}</b>{" "}
          {reading && reading.name !== path.split("/").at(-1) && <span class="quiet">{reading.name}</span>}
        </span>
        <span class="thumbnail-line quiet">{domain && extent(reading!, domain)}</span>
        <span class="thumbnail-line quiet">{reading && whereOf(reading)}</span>
      </Button>
    </li>
  );
}

/** The smallest and largest value that was read; the cells of a picture are means. */
function extent({ times, units, minimum, maximum }: ReadingModel, domain: [number, number]): string {
  if (times) return domain.map((at) => new Date(at).toISOString().slice(0, 10)).join(" to ");
  const ends = minimum === null || maximum === null ? domain : [minimum, maximum];
  return `${ends.map(value).join(" to ")}${units ? ` ${units}` : ""}`;
}

/** Where along the dimensions that are not drawn the picture is. */
function whereOf(reading: ReadingModel): string {
  const parts = reading.shape.flatMap((size, axis) => {
    const coordinate = reading.coordinates[axis];
    if (size !== 1 || coordinate?.values?.[0] == null) return [];
    const { name, times, values } = coordinate;
    const at = values[0]!;
    return times ? [new Date(at).toISOString().slice(0, 10)] : [`${name} ${value(at)}`];
  });
  return parts.join(", ");
}

/** The picture of a slice, or the line of a row. */
function drawn(reading: ReadingModel, values: Float64Array, domain: [number, number]): Element | null {
  const { drawn: axes } = layout(reading);
  const [rows, columns] = axes;
  if (rows && columns) {
    const place = placing("linear", domain[0] === domain[1] ? [domain[0] - 0.5, domain[1] + 0.5] : domain);
    const cells = cellsOf(pixelsOf(values, columns.size, rows.size, tableOf("viridis"), place));
    const isUpward = rows.at !== null && rows.at[rows.size - 1]! > rows.at[0]!;
    if (isUpward) cells.style.transform = "scaleY(-1)";
    // Larger than it is, each cell is seen.
    if (columns.size < WIDE && rows.size < HIGH) cells.style.imageRendering = "pixelated";
    return cells;
  }
  if (!rows) return null;
  return line(values, rows, { ...PLAIN_LINE, width: WIDE, height: HIGH, domain, times: reading.times }).element;
}

const TITLE = "The dataset as xarray shows it";
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
  const [theme = ""] = useAppearance(frame).split(" "); // light or dark
  const [height, setHeight] = useState(200);
  const measure = () => {
    const body = frame.current?.contentDocument?.body;
    if (!body) return;
    const observer = new ResizeObserver(() => setHeight(body.scrollHeight + 8));
    observer.observe(body);
    // The keys of the explorer work in the frame, too.
    body.ownerDocument.onkeydown = (event) => {
      if (!frame.current!.dispatchEvent(new KeyboardEvent("keydown", event))) event.preventDefault();
    };
    lead(body, arrays, choose);
  };
  const colours = theme === "dark" ? "color:#e6edf3;background:transparent" : "color:#1f2328;background:transparent";
  const page = `<!doctype html><html lang="en" data-theme="${theme}" style="color-scheme:${theme || "light"}"><head><title>${TITLE}</title>
    <meta http-equiv="Content-Security-Policy" content="${POLICY}">
    <style>.xr-wrap{max-width:none!important;--xr-background-color-row-even:transparent;--xr-background-color-row-odd:${theme === "dark" ? "#202428" : "#f3f4f4"}}body{margin:0;font:13px system-ui,sans-serif;${colours}}
      [role=link]{color:${theme === "dark" ? "#6cb0ff" : "#0b62c4"};cursor:pointer}[role=link]:focus-visible{outline:2px solid}</style></head><body>${html}</body></html>`;
  return (
    <iframe
      ref={frame}
      class="dataset"
      title={TITLE}
      aria-label={TITLE}
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
