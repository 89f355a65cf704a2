/** The targets of a set as a table, and the bytes of one of them as a strip. */

import { useEffect, useRef } from "preact/hooks";

import { count } from "../shared/format.ts";
import { Blank, Button } from "../shared/parts.tsx";
import { Pending, Waited } from "../shared/access.tsx";
import { Zoom } from "../shared/controls.tsx";
import { useStore } from "../shared/store.ts";
import { Data } from "../preview/data.tsx";
import { targetName, TELLING } from "./cells.ts";
import { Entries, type LegendEntry } from "./legend.tsx";
import { filesQuery, filesText, zoomed, type Span, type Strip } from "./maps.ts";
import { series } from "../shared/palette.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView } from "../explorer/view.ts";
import { arrayName, summary } from "./intervals.ts";
import { StripBoard } from "./strip.tsx";
import { TargetCheck, TargetTable, TargetTools } from "./targettable.tsx";
import { Timeline } from "./timeline.tsx";

export const VIEW: ExplorerView = {
  name: "targets",
  Shown: Targets,
  address: {
    files: {
      text: ({ maps }) => filesText(maps.state.query),
      show: ({ maps }, text) => maps.narrowTargets(filesQuery(text)),
    },
  },
};

function Targets({ session }: { session: ExplorerSession }) {
  const { item } = useStore(session);
  const { strip, stripError } = useStore(session.maps);
  const { maps } = session;
  const refers = item !== null && (item.kind === "url" || item.kind === "range");
  const wanted = refers ? item.url : undefined;
  const inside = refers && item.url === strip?.url && item.offset !== null;
  const selected: Span | null = inside ? [Number(item.offset), Number(item.offset) + Number(item.length)] : null;
  const isHere = useRef(false);
  useEffect(() => {
    // The file that a link led to stays, whatever is selected.
    const isLed = !isHere.current && maps.isSorting;
    isHere.current = true;
    if (isLed) return;
    if (wanted !== undefined && wanted !== strip?.url) maps.showTarget({ url: wanted, window: null });
    else if (strip === undefined) maps.showTarget({ window: null });
    else if (strip && selected && !inView(strip, selected)) maps.showTarget({ url: strip.url, window: null });
  }, [item]);
  if (stripError !== null || strip === undefined) {
    const retry = () => maps.showTarget({ window: null });
    const sentence = "Sorting the ranges of all files …";
    return <Pending error={stripError} retry={retry} sentence={sentence} waiting={maps.sorting} />;
  }
  if (strip === null) return <Blank sentence="No key refers to a file: all data is in the set itself." />;
  return (
    <>
      {session.chunksInPicture() >= TELLING && <Data session={session} />}
      <TargetTools session={session} />
      <Timeline maps={maps} />
      <TargetTable maps={maps} chosen={strip.url} reveal={(path) => session.run(session.reveal(path))} />
      <TargetCheck maps={maps} />
      <Waited waiting={maps.sorting} />
      <Target strip={strip} selected={selected} session={session} />
    </>
  );
}

/** Arrays of a target that are linked by name. */
const NAMED = 12;

function inView({ start, stop }: Strip, [from, to]: Span): boolean {
  return from >= start && to <= stop;
}

function Target({ strip, selected, session }: { strip: Strip; selected: Span | null; session: ExplorerSession }) {
  const { url, start, stop, end } = strip;
  const show = (window: Span | null) => session.maps.showTarget({ url, window });
  const near = (): Span => zoomed(selected!, 8, (selected![0] + selected![1]) / 2, end);
  const go = (path: string) => ({ onClick: () => session.run(session.reveal(path)) });
  return (
    <section class="target-map">
      <h2 class="data-title">{targetName(url)}</h2>
      <p class="caption">{summary(strip)}</p>
      <p class="caption links">
        <Button text="List its keys" link onClick={() => session.run(session.focusOnTarget(url))} />
        {strip.arrays
          .slice(0, NAMED)
          .flatMap(({ path }) =>
            path === null ? [] : [<Button text={path || "/"} key={path} link title="Show the array" {...go(path)} />],
          )}
        {strip.arrays.length > NAMED && <span>and {count(strip.arrays.length - NAMED)} more arrays</span>}
      </p>
      {Number(strip.unlisted) > 0 && (
        <p class="caption">
          {count(strip.unlisted)} generated keys were not evaluated, since there are too many; they are not shown.
        </p>
      )}
      {Number(strip.ranges) === 0 ? (
        <Whole strip={strip} select={(key) => session.run(session.reveal(key))} />
      ) : (
        <>
          <div class="controls">
            {selected && <Button text="Show the selected range" onClick={() => show(near())} />}
            <span class="space" />
            <Zoom
              whole="Whole file"
              zoom={(by) => show(zoomed([start, stop], 0.5 ** by, (start + stop) / 2, end))}
              reset={() => show(null)}
              deepest={stop - start <= 16}
              widest={stop - start >= end}
            />
          </div>
          <StripBoard
            key={url ?? ""}
            strip={strip}
            name={targetName(url)}
            selected={selected}
            select={(key) => session.run(session.reveal(key))}
            show={show}
          />
          <Entries label="Legend" entries={legendOf(strip)} />
        </>
      )}
    </section>
  );
}

function legendOf(strip: Strip): LegendEntry[] {
  const arrays = strip.arrays.map(({ path, number }) => ({ name: arrayName(path), mark: series(number) }));
  const gaps = Number(strip.gaps) > 0 ? [{ name: "not referenced", mark: "nothing" as const }] : [];
  const shared =
    Number(strip.shared) > 0
      ? [{ name: "bar above: referenced more than once", mark: { colour: "--bad", pattern: 0 } }]
      : [];
  return [...arrays, ...gaps, ...shared];
}

/** A target of which no part is named. */
function Whole({ strip, select }: { strip: Strip; select(key: string): void }) {
  const more = Number(strip.whole) - strip.whole_keys.length;
  return (
    <p class="prose">
      Read as a whole by{" "}
      {strip.whole_keys.map((key, i) => (
        <>
          {i > 0 && ", "}
          <Button text={key} key={key} link onClick={() => select(key)} />
        </>
      ))}
      {more > 0 && ` and ${count(more)} more`}. The size is unknown until the file is read.
    </p>
  );
}
