/** The chunks of an array, shaded by how often an access reads them. */

import { Failure } from "../shared/asking.tsx";
import { count } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import { accesses, shaded, type Costs, type TouchedChunks } from "./costs.ts";
import { Choice } from "../maps/mapparts.tsx";

const SIDE = 10;

export function Touched({ costs }: { costs: Costs }) {
  const state = useStore(costs);
  const { cost, touched, touchedError } = state;
  const access = shaded(state) ?? "";
  const names = accesses(cost, cost?.array ?? null);
  return (
    <section class="touched">
      <h3>Chunks that an access reads</h3>
      {names.length > 1 && (
        <Choice
          label="Access"
          value={access}
          options={names.map((name) => [name, name])}
          choose={(name) => costs.shade(name)}
        />
      )}
      {touchedError !== null && <Failure sentence={touchedError} />}
      {touched !== null && <Shaded touched={touched} access={access} />}
    </section>
  );
}

function Shaded({ touched, access }: { touched: TouchedChunks; access: string }) {
  const { array, axes, cells, columns, dimensions, grid, most, rows } = touched;
  const size = axes.map((axis) => `${count(grid[axis]!)} along ${dimensions[axis]}`).join(", ") || "a single chunk";
  const varies = cells.some((cell) => cell > 0 && cell < most);
  const some = cells.reduce((total, cell) => total + (cell > 0 ? 1 : 0), 0);
  const times = most > 1 ? `; at most ${Number(most.toPrecision(3))} times each` : "";
  const share = `${some === cells.length ? "all" : `${Number(((100 * some) / Math.max(cells.length, 1)).toPrecision(2))} %`} of the map`;
  return (
    <figure>
      <svg
        class="touched-map"
        viewBox={`0 0 ${columns * SIDE} ${rows * SIDE}`}
        style={{ maxWidth: `${columns * 2 * SIDE}px` }}
        role="img"
        aria-label={`Chunks of ${array || "/"} that "${access}" reads: ${share}${times}`}
      >
        {Array.from(cells, (cell, place) => (
          <rect
            key={place}
            class={cell > 0 ? "read" : "unread"}
            x={(place % columns) * SIDE}
            y={Math.floor(place / columns) * SIDE}
            width={SIDE - 1}
            height={SIDE - 1}
            fill-opacity={cell > 0 ? 0.15 + (0.85 * cell) / most : 1}
          />
        ))}
      </svg>
      <figcaption class="quiet">
        {size}: {share} is read{times}.{varies && " Stronger colours are read more often."}
      </figcaption>
    </figure>
  );
}
