/** What reading costs: a bar for each access, chunks by how often they are read, what would help. */

import * as Plot from "@observablehq/plot";
import { useEffect, useMemo } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView, Paint } from "../explorer/view.ts";
import { TELLING } from "../maps/cells.ts";
import { absence, Entries, type LegendEntry } from "../maps/legend.tsx";
import type { GridPicture, GridWish } from "../maps/maps.ts";
import { Data } from "../preview/data.tsx";
import { Failure, Pending, Waited } from "../shared/access.tsx";
import { AskForm, Choice, DataTable, Sentences, Stepper } from "../shared/controls.tsx";
import { bytes, count, counted } from "../shared/format.ts";
import { Button, Sentence, Unknown } from "../shared/parts.tsx";
import { series } from "../shared/palette.ts";
import { useStore } from "../shared/store.ts";
import type { AccessCost, Connection, ReadingCosts } from "../shared/wire.ts";
import {
  accesses,
  Costs,
  duration,
  GIVEN,
  placed,
  secondsOf,
  shaded,
  wasteOf,
  type CostsState,
  type TouchedChunks,
} from "./costs.ts";
import style from "./cost.css";

/** Slider positions for a factor of ten. */
const STEPS = 20;
const LATENCIES: [number, number] = [1e-4, 2];
const BANDWIDTHS: [number, number] = [1e5, 1e11];

export const VIEW: ExplorerView = {
  name: "cost",
  Shown: Cost,
  Details: CostDetails,
  style,
  usePaint,
  access(session) {
    const { state } = session.of(Costs);
    const access = shaded(state) ?? "";
    return access === GIVEN ? state.given : access;
  },
  address: {
    cost: {
      text: (session) => session.of(Costs).text,
      show: (session, text) => session.of(Costs).restore(text),
    },
  },
};

function Cost({ session }: { session: ExplorerSession }) {
  const costs = session.of(Costs);
  const { item } = useStore(session);
  const state = useStore(costs);
  const wanted = item?.array?.path ?? item?.chunk?.array ?? null;
  useEffect(() => {
    if (state.cost === null || (wanted !== null && wanted !== state.array))
      costs.change({ array: wanted ?? state.array });
  }, [wanted]);
  const { cost, error } = state;
  const n = session.chunksInPicture();
  const isPainted = n >= TELLING && state.touchedError === null;
  useEffect(() => {
    if (!isPainted) costs.paint(null);
  }, [isPainted]);
  if (cost === null) {
    const retry = () => costs.change({});
    return <Pending error={error} retry={retry} sentence="Counting the requests …" waiting={costs.counting} />;
  }
  const place = placed(state)!;
  return (
    <>
      <Waited waiting={costs.counting} />
      {isPainted ? <Data session={session} /> : cost.array !== null && <Touched costs={costs} />}
      {error !== null && <Failure sentence={error} />}
      <p class="caption">
        {cost.array !== null && <b>{cost.array || "/"}</b>} From {state.place}: {duration(place.latency)} latency,{" "}
        {bytes(Math.round(place.bandwidth))}/s, as {state.reader} reads.{" "}
        <Button text="Change" link onClick={() => session.set({ isAside: true })} />
      </p>
      <Bars costs={costs} state={state} cost={cost} place={place} />
    </>
  );
}

/** Next to the picture: where and how the data are read, and what would help. */
function CostDetails({ session }: { session: ExplorerSession }) {
  const costs = session.of(Costs);
  const state = useStore(costs);
  const { cost } = state;
  if (cost === null) return null;
  return (
    <section class="cost-details" aria-label="Cost of reading">
      <h3>Cost of reading</h3>
      <p class="caption">
        This reads no files. Requests and bytes are computed from the set, and times from the latency and bandwidth
        below.
      </p>
      <Controls costs={costs} state={state} cost={cost} place={placed(state)!} />
      <Findings cost={cost} />
      {cost.bounds.length > 0 && (
        <section>
          <h3>Limits of the file layout</h3>
          <Sentences class="cost-list" of={cost.bounds} />
        </section>
      )}
      <p class="quiet">{cost.notes.join(" ")}</p>
    </section>
  );
}

interface Drawn {
  costs: Costs;
  state: CostsState;
  cost: ReadingCosts;
  place: Connection;
}

function Controls({ costs, state, cost, place }: Drawn) {
  const readers = cost.readers.map(({ name }) => name);
  return (
    <>
      <div class="controls">
        <Choice
          label="Place"
          value={state.place}
          options={cost.places.map(({ name }) => name)}
          choose={(name) => costs.change({ place: name, latency: null, bandwidth: null })}
        />
        {readers.length > 1 && (
          <Choice label="Reader" value={state.reader} options={readers} choose={(reader) => costs.set({ reader })} />
        )}
      </div>
      <Stepper
        label="Latency"
        {...factors(place.latency, LATENCIES, (latency) => costs.change({ latency }))}
        text={duration(place.latency)}
      />
      <Stepper
        label="Bandwidth"
        {...factors(place.bandwidth, BANDWIDTHS, (bandwidth) => costs.change({ bandwidth }))}
        text={`${bytes(Math.round(place.bandwidth))}/s`}
      />
      {cost.array !== null && (
        <AskForm
          box="cost-given"
          label="Another access pattern"
          placeholder="0, 10:20"
          start={state.given}
          button="Show its cost"
          isOptional
          go={(given) => costs.change({ given, access: given === "" ? state.access : GIVEN })}
        />
      )}
    </>
  );
}

/** The places of a slider on which equal ways are equal factors. */
function factors(value: number, range: [number, number], set: (value: number) => void) {
  const [min, max, at] = [...range, Math.max(value, range[0])].map((each) => Math.round(STEPS * Math.log10(each)));
  return { min: min!, max: max!, value: at!, move: (to: number) => set(10 ** (to / STEPS)) };
}

function Bars({ costs, state, cost, place }: Drawn) {
  const told = cost.bars.map((bar) => {
    const reader = bar.readers.find(({ reader }) => reader === state.reader) ?? bar.readers[0]!;
    const seconds = secondsOf(reader, cost.readers, place);
    return { bar, reader, seconds, sent: secondsOf(reader, cost.readers, { ...place, latency: 0 }) ?? seconds ?? 0 };
  });
  const longest = Math.max(...told.map(({ seconds }) => seconds ?? 0), 1e-9);
  return (
    <DataTable
      class="health-table cost-bars"
      label="Cost of each access"
      rows={told}
      of={({ bar }) => `${bar.name} ${bar.path}`}
      columns={[
        {
          head: "Access",
          class: "start",
          cell: ({ bar }) => <Access bar={bar} costs={costs} shaded={shaded(state) === bar.name} />,
        },
        {
          head: "Requests",
          cell: ({ reader }) => (reader.requests === null ? <Unknown /> : count(reader.requests)),
        },
        { head: "Fetched", cell: ({ reader }) => (reader.bytes === null ? <Unknown /> : bytes(reader.bytes)) },
        { head: "Not used", class: "wide", cell: ({ bar }) => <Waste bar={bar} /> },
        { head: "About", cell: ({ seconds }) => (seconds === null ? <Unknown /> : duration(seconds)) },
        {
          head: <span class="unseen">Share of the longest</span>,
          class: "start time",
          cell: ({ seconds, sent }) => seconds !== null && <Bar seconds={seconds} sent={sent} longest={longest} />,
        },
      ]}
    />
  );
}

function Access({ bar, costs, shaded }: { bar: AccessCost; costs: Costs; shaded: boolean }) {
  const parts = [
    bar.chunks === null
      ? ""
      : `${counted(bar.chunks, "chunk")}${bar.files === null ? "" : ` from ${counted(bar.files, "file")}`}`,
    Number(bar.held) > 0 ? `${count(bar.held!)} stored in the set` : "",
    Number(bar.absent) > 0 ? `${count(bar.absent!)} without a reference` : "",
    Number(bar.rejected) > 0 ? `${count(bar.rejected!)} rejected` : "",
    ...bar.unknown,
  ];
  return (
    <>
      {bar.name === "open" ? (
        <>Opening {bar.path || "the set"}</>
      ) : (
        <Button
          text={bar.name}
          link
          aria-pressed={shaded}
          title="Shade the chunks by this access"
          onClick={() => costs.shade(bar.name)}
        />
      )}{" "}
      <code>{bar.selection}</code>
      <span class="quiet shape">{parts.filter(Boolean).join(", ")}</span>
    </>
  );
}

function Waste({ bar }: { bar: AccessCost }) {
  const waste = wasteOf(bar);
  if (waste === null) return <Unknown />;
  return <span title={`${bytes(bar.used!)} of ${bytes(bar.decoded!)} are used, both decoded`}>{part(waste)}</span>;
}

/** 0.123 → "12.3 %"; what is not all, and not nothing, is not said to be. */
function part(share: number): string {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  if (share < 1 && share > 0.999) return "> 99.9 %";
  return `${Number((100 * share).toFixed(1))} %`;
}

/** The time, and what of it is waiting for first bytes. */
function Bar({ seconds, sent, longest }: { seconds: number; sent: number; longest: number }) {
  const share = (part: number) => `${(100 * part) / longest}%`;
  return (
    <span class="cost-bar" aria-hidden="true">
      <span class="waiting" style={{ width: share(seconds - sent) }} />
      <span class="sending" style={{ width: share(sent) }} />
    </span>
  );
}

function Findings({ cost }: { cost: ReadingCosts }) {
  const more = cost.finding_count - cost.findings.length;
  if (cost.finding_count === 0) return <p class="quiet">No improvement was found.</p>;
  return (
    <section>
      <h3>How to reduce the cost</h3>
      <ol class="cost-list" aria-label="Findings by gain">
        {cost.findings.map(({ code, path, message, remedy, seconds_gained: gain }) => (
          <li key={`${code} ${path} ${message}`}>
            {gain !== null && <b class="gain">{duration(gain)} less </b>}
            <Sentence text={message} />
            <code class="remedy">{remedy}</code>
          </li>
        ))}
      </ol>
      {more > 0 && <p class="quiet">and {count(more)} more</p>}
    </section>
  );
}

/** Of a cell in the map of the chunks. */
const SIDE = 10;
/** Of a cell on the screen, px. */
const LARGEST_CELL = 56;

function Touched({ costs }: { costs: Costs }) {
  const state = useStore(costs);
  const { cost, touched, touchedError } = state;
  const access = shaded(state) ?? "";
  const names = accesses(cost, cost?.array ?? null);
  return (
    <section class="touched">
      <h3>Chunks of {cost?.array || "/"} that an access reads</h3>
      {names.length > 1 && (
        <Choice label="Access" value={access} options={names} choose={(name) => costs.shade(name)} />
      )}
      {touchedError !== null && <Failure sentence={touchedError} />}
      {touched !== null && <Shaded touched={touched} access={access} />}
    </section>
  );
}

function Shaded({ touched, access }: { touched: TouchedChunks; access: string }) {
  const { array, axes, cells, columns, dimensions, grid, most, rows } = touched;
  // The longer side lies across, where there is more room.
  const [across, down] = rows > columns ? [rows, columns] : [columns, rows];
  const along = (axis: number) => `${count(grid[axis]!)} along ${dimensions[axis]}`;
  const others = grid.flatMap((size, axis) => (Number(size) > 1 && !axes.includes(axis) ? [along(axis)] : []));
  const mean = others.length > 0 ? `; each cell is the mean of ${others.join(", ")}` : "";
  const size = axes.map(along).join(", ") || "a single chunk";
  const varies = cells.some((cell) => cell > 0 && cell < most);
  const some = cells.reduce((total, cell) => total + (cell > 0 ? 1 : 0), 0);
  const times = most > 1 ? `; at most ${Number(most.toPrecision(3))} times each` : "";
  const share = `${some === cells.length ? "all" : `${Number(((100 * some) / Math.max(cells.length, 1)).toPrecision(2))} %`} of the map`;
  return (
    <figure>
      <svg
        class="touched-map"
        viewBox={`0 0 ${across * SIDE} ${down * SIDE}`}
        preserveAspectRatio="none"
        style={{ maxWidth: `${across * LARGEST_CELL}px`, height: `${down * LARGEST_CELL}px` }}
        role="img"
        aria-label={`Chunks of ${array || "/"} that "${access}" reads: ${share}${times}`}
      >
        {Array.from(cells, (cell, place) => (
          <rect
            key={place}
            class={cell > 0 ? "read" : "unread"}
            x={(rows > columns ? Math.floor(place / columns) : place % columns) * SIDE}
            y={(rows > columns ? place % columns : Math.floor(place / columns)) * SIDE}
            width={SIDE - 1}
            height={SIDE - 1}
            fill-opacity={cell > 0 ? 0.15 + (0.85 * cell) / most : 1}
          />
        ))}
      </svg>
      <figcaption class="quiet">
        {size}: {share} is read{times}
        {mean}.{varies && " Stronger colours are read more often."}
      </figcaption>
    </figure>
  );
}

/** How often the chunks of a part of a picture are read; null until that is known, or where it is not asked for. */
function usePaint(session: ExplorerSession, wish: GridWish | null): Paint | null {
  const costs = session.of(Costs);
  const { touched } = useStore(costs);
  const wished = JSON.stringify(wish);
  useEffect(() => {
    if (wish) costs.paint(wish);
  }, [wished]);
  const read = wish && touched?.wish === wished ? touched : null;
  return useMemo(
    () =>
      read && {
        colours: (picture) => touchedColours(picture, read),
        legend: (picture) => <TouchedLegend access={shaded(costs.state) ?? ""} touched={read} grid={picture} />,
      },
    [read],
  );
}

const shades = (most: number) =>
  Plot.scale({ color: { type: "linear", scheme: "viridis", domain: [0, Math.max(1, most)] } });

/** The more often an access reads a chunk, the brighter; grey is what it does not read. */
function touchedColours(picture: GridPicture, touched: TouchedChunks): (cell: number) => string {
  const scale = shades(touched.most);
  const [down, across] = [0, 1].map((side) => (picture.steps[side] ?? 1) / Number(touched.steps[side] ?? 1)) as [
    number,
    number,
  ];
  return (cell) => {
    const row = Math.floor(Math.floor(cell / picture.columns) * down);
    const column = Math.floor((cell % picture.columns) * across);
    const times = touched.cells[row * touched.columns + column] ?? 0;
    return times > 0 ? String(scale.apply(times)) : series(-1).colour;
  };
}

function TouchedLegend({ access, touched, grid }: { access: string; touched: TouchedChunks; grid: GridPicture }) {
  const { cells, most } = touched;
  const least = cells.reduce((found, cell) => (cell > 0 ? Math.min(found, cell) : found), most);
  const times = (number: number) => Number(number.toPrecision(3));
  const read = least === most ? `read ${times(least)} ×` : `read ${times(least)} to ${times(most)} ×`;
  const marks: LegendEntry[] = [
    {
      name: `${read} by "${access}"`,
      mark: { colour: String(shades(most).apply(most)), pattern: 0 },
    },
    ...(cells.includes(0) ? [{ name: "not read", mark: series(-1) }] : []),
    ...absence(grid),
  ];
  return <Entries label="Legend" entries={marks} />;
}
