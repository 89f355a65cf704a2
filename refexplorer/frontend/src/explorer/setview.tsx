/** The middle where nothing is selected: a small picture of each data variable, the set as xarray shows it. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { placing } from "../preview/bars.ts";
import { tableOf } from "../preview/colours.ts";
import { line, painted } from "../preview/plot.ts";
import { layout, range } from "../preview/slices.ts";
import { Button } from "../shared/parts.tsx";
import { bytes, value } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { Hello, ReadingModel } from "../shared/wire.ts";
import { Dataset } from "./dataset.tsx";
import type { ExplorerSession } from "./session.ts";
import { Thumbnails, type Thumbnail } from "./thumbnails.ts";

export function SetView({ session, hello }: { session: ExplorerSession; hello: Hello }) {
  const { shown } = useStore(session.of(Thumbnails));
  useEffect(() => {
    void session.firstRows.then(() => session.of(Thumbnails).draw(hello.variables));
  }, [session, hello.title, hello.variables.join()]);
  return (
    <>
      {shown.length > 0 && (
        <section>
          <h3>{shown.length < hello.arrays.length ? "The largest data variables" : "The data variables"}</h3>
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
      <Button
        text={`Allow ${grant}: read ${bytes(size)} for pictures`}
        class="button main-button"
        onClick={() => session.run(session.of(Thumbnails).allow(grant))}
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
  const text = (at: number) => (reading?.times ? new Date(at).toISOString().slice(0, 10) : value(at));
  return (
    <li>
      <Button class="thumbnail" onClick={go} title={`Show ${path || "/"}`}>
        <span class={`thumbnail-picture${why === null && !reading ? " waiting" : ""}`} ref={box} aria-hidden="true">
          {why !== null && <span class="quiet thumbnail-why">{why}</span>}
        </span>
        <span class="thumbnail-line">
          <b>{path || "/"}</b> {reading && reading.name !== path && <span class="quiet">{reading.name}</span>}
        </span>
        <span class="thumbnail-line quiet">
          {domain && `${text(domain[0])} to ${text(domain[1])} ${reading?.times ? "" : (reading?.units ?? "")}`}
          {reading && whereOf(reading)}
        </span>
      </Button>
    </li>
  );
}

/** Where along the dimensions that are not drawn the picture is. */
function whereOf(reading: ReadingModel): string {
  const parts = reading.shape.flatMap((size, axis) => {
    const coordinate = reading.coordinates[axis];
    if (size !== 1 || coordinate?.values?.[0] == null) return [];
    const { name, times, values } = coordinate;
    const at = values[0]!;
    return times ? [`, ${new Date(at).toISOString().slice(0, 10)}`] : [`, ${name} ${value(at)}`];
  });
  return parts.join("");
}

/** The picture of a slice, or the line of a row. */
function drawn(reading: ReadingModel, values: Float64Array, domain: [number, number]): Element | null {
  const { drawn: axes } = layout(reading);
  const [rows, columns] = axes;
  if (rows && columns) {
    const place = placing("linear", domain[0] === domain[1] ? [domain[0] - 0.5, domain[1] + 0.5] : domain);
    const cells = painted(values, columns.size, rows.size, tableOf("viridis"), place);
    const isUpward = rows.at !== null && rows.at[rows.size - 1]! > rows.at[0]!;
    if (isUpward) cells.style.transform = "scaleY(-1)";
    return cells;
  }
  if (!rows) return null;
  const look = {
    width: WIDE,
    height: HIGH,
    label: "",
    domain,
    scheme: "viridis" as const,
    scale: "linear" as const,
    times: reading.times,
    marked: [],
  };
  return line(values, rows, look).element;
}
