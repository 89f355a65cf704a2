/** An array on the map of the earth: which one, what its places take, its values and chunks, a place to find. */

import { useEffect, useMemo } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView } from "../explorer/view.ts";
import type { GridPicture } from "../maps/maps.ts";
import { Failure, Pending, Question, Waited, Working } from "../shared/access.tsx";
import { arrayOptions, AskForm, Choice } from "../shared/controls.tsx";
import { seenSlices } from "../key/copycell.tsx";
import { Places } from "../preview/part.tsx";
import { Steps } from "../preview/scrubber.tsx";
import { layout } from "../preview/slices.ts";
import { count } from "../shared/format.ts";
import { Blank, Button } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import { FOOTPRINTS, type Footprints, indexAt, valuesOf } from "./colouring.ts";
import { EarthPicture, type ShownProps } from "./picture.tsx";
import style from "./geo.css";
import { Earth, earthState, earthText } from "./earth.ts";
import { coarsest, type EarthMesh } from "./raster.ts";

export const VIEW: ExplorerView = {
  name: "map",
  Shown: EarthPart,
  style,
  address: {
    earth: {
      text: (session) => earthText(session.of(Earth).state),
      show: (session, text) => session.of(Earth).set(earthState(text)),
    },
  },
};

function EarthPart({ session }: { session: ExplorerSession }) {
  const store = session.of(Earth);
  const { item } = useStore(session);
  const { earth, mesh, error } = useStore(store);
  const wanted = item?.array?.path ?? null;
  useEffect(() => {
    // A selected array that is nowhere on earth says so; without one the largest is shown.
    if (earth === null || (wanted !== null && wanted !== earth.array)) store.show(wanted);
  }, [wanted]);
  if (error !== null || earth === null) {
    const retry = () => store.show(wanted);
    return <Pending error={error} retry={retry} sentence="Looking for coordinates …" waiting={store.placing} />;
  }
  const isNamed = earth.arrays.length > 0 || earth.array !== "";
  return (
    <div class="earth">
      {isNamed && (
        <div class="controls">
          <Choice
            label="Array"
            value={earth.array}
            options={arrayOptions(earth.arrays, earth.array)}
            choose={(path) => session.run(session.reveal(path))}
          />
        </div>
      )}
      <Waited waiting={store.placing} />
      {earth.state === "none" && <Blank sentence={earth.message ?? "This array is not georeferenced."} />}
      {earth.state === "failed" && <Failure sentence={earth.message ?? "The coordinates could not be read."} />}
      {earth.state === "ask" && (
        <Question sentence={earth.message} grant={earth.grant!} allow={(grant) => void store.allow(grant)} />
      )}
      {earth.state === "offer" && (
        <div class="offer">
          <p>
            {earth.source} {earth.message}
          </p>
          <Button
            text={earth.estimate?.label ?? "Read the coordinates"}
            main
            onClick={() => store.show(earth.array, true)}
          />
        </div>
      )}
      {earth.state === "fetched" && mesh && <Shown key={earth.array} session={session} earth={earth} mesh={mesh} />}
    </div>
  );
}

function Shown({ session, earth, mesh }: ShownProps) {
  const { grid } = useStore(session.maps);
  const { item, steps } = useStore(session);
  const { job, plan, planError } = useStore(session.preview);
  const { footprints, isCoarse } = useStore(session.of(Earth));
  const axes = earth.axes!;
  const isDrawn = grid?.array === earth.array && grid.axes.join() === axes.join();
  useEffect(() => {
    if (!isDrawn) session.maps.showGrid(earth.array, [...axes]);
  }, [earth.array, isDrawn]);
  useEffect(() => {
    if (session.preview.state.plan?.array !== earth.array) session.preview.look(earth.array, null);
  }, [earth.array]);
  const reading =
    job?.array === earth.array && job.values !== null && job.reading?.state !== "ask" ? job.reading : null;
  const drawn = useMemo(
    () => (reading && job?.values ? valuesOf(session, reading, job.values, job.integers, axes, steps) : null),
    [reading, job?.values, job?.integers, steps.join(), session.state.picture],
  );
  const hasRim = useMemo(() => mesh.latitude.some(Number.isNaN), [mesh]);
  const by: Footprints = footprints ?? (drawn ? "outline" : "state");
  const busy = job?.array === earth.array && job.id !== null;
  const asks = job?.array === earth.array && job.reading?.state === "ask" ? job : null;
  const read = () => {
    // Who reads values wants to see them, not what the chunks are filled with.
    if (by === "state" || by === "file") session.of(Earth).set({ footprints: null });
    void session.preview.read();
  };
  const isOffered =
    plan?.array === earth.array &&
    !busy &&
    asks === null &&
    (drawn === null || plan.slices.join() !== reading?.slices.join());
  return (
    <>
      <div class="controls">
        <Choice
          label="Chunks"
          value={by}
          options={Object.entries(FOOTPRINTS)}
          choose={(next) => session.of(Earth).set({ footprints: next as Footprints })}
        />
        {isOffered && (
          <Button
            text={plan.estimate.label}
            main={drawn !== null}
            title={`${plan.array || "/"}[${plan.slices.join(", ")}]`}
            onClick={read}
          />
        )}
        <Find
          session={session}
          index={indexAt(
            earth,
            reading,
            steps,
            item?.array?.path === earth.array ? (item.chunk?.index.map(Number) ?? null) : null,
          )}
        />
      </div>
      {busy && <Working progress={job!.progress} cancel={() => session.preview.cancel()} />}
      {asks && (
        <Question
          sentence={asks.reading!.message}
          grant={asks.reading!.grant!}
          allow={() => void session.preview.allow(asks)}
        />
      )}
      {planError !== null && <Failure sentence={planError} />}
      {job?.array === earth.array && job.error !== null && <Failure sentence={job.error} />}
      {reading?.state === "failed" && <Failure sentence={reading.message ?? "Reading failed."} />}
      <EarthPicture
        session={session}
        earth={earth}
        mesh={mesh}
        drawn={drawn}
        reading={reading}
        grid={isDrawn ? grid : null}
        by={by}
      />
      {drawn && reading && <Steps session={session} reading={reading} axes={layout(reading, [...axes]).stepped} />}
      <Places session={session} array={earth.array} />
      <p class="caption">
        {earth.source} {hasRim && saidOfRim(mesh)}
        {isCoarse && "Coastlines have a scale of 1:110 million; finer coastlines are not included. "}
        {drawn &&
          by !== "state" &&
          by !== "file" &&
          `Drawn: ${reading!.array}[${seenSlices(session, reading!).join(", ")}], each pixel is the ${reading!.reduced ? "block" : "value"} at its centre. `}
        {isDrawn && grid && saidOfChunks(grid, by)}
      </p>
    </>
  );
}

/** What is left out at the edge of the earth. */
function saidOfRim(mesh: EarthMesh): string {
  const [rows, columns] = coarsest(mesh);
  const what =
    rows * columns > 1
      ? `groups of up to ${count(rows)} × ${count(columns)} cells partly outside it are`
      : "cells partly outside it are";
  return `At the edge of the earth ${what} left out or cut. `;
}

/** What the footprints are, where they are not one for each chunk alone. */
function saidOfChunks(grid: GridPicture, by: Footprints): string {
  if (by === "none") return "";
  const others = grid.grid.flatMap((size, axis) =>
    Number(size) > 1 && !grid.axes.includes(axis) ? [`${count(size)} along ${grid.dimensions[axis]}`] : [],
  );
  const many = grid.steps.some((step) => step > 1);
  return [
    others.length > 0 && by !== "outline"
      ? `Each footprint includes all chunks above it: ${others.join(" and ")}.`
      : "",
    many && by !== "outline"
      ? `States and files are shown for groups of ${grid.steps.map(count).join(" × ")} chunks.`
      : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function Find({ session, index }: { session: ExplorerSession; index: number[] }) {
  const { found, findError, view } = useStore(session.of(Earth));
  const find = async (text: string) => {
    const place = await session.of(Earth).find(text, index);
    if (place?.key == null) return;
    const { longitude, latitude } = place;
    if (view && longitude !== null && latitude !== null) session.of(Earth).look({ ...view, longitude, latitude });
    await session.pick(place.key);
  };
  return (
    <AskForm
      box="earth-find"
      aria-label="Position: latitude and longitude"
      placeholder="52.5, 13.4 or 52.5N 13.4E"
      title="Latitude and longitude, such as 52.5, 13.4 or 52.5N 13.4E"
      button="Find"
      go={(text) => session.run(find(text))}
    >
      <span role="status">
        {found && found.key !== null ? (
          <Button
            text={found.sentence}
            link
            onClick={() => session.showDetails()}
            title="Show the chunk in the inspector"
          />
        ) : (
          found?.sentence
        )}
      </span>
      {findError !== null && <Failure sentence={findError} />}
    </AskForm>
  );
}
