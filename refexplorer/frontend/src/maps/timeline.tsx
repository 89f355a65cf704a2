/** The targets by date: gaps are seen, and a period can be chosen. */

import { useMemo, useState } from "preact/hooks";

import { count, counted, moment } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { DateBin, TargetDates } from "../shared/wire.ts";
import { Board, type Frame } from "./board.tsx";
import type { Maps } from "./maps.ts";

const HEIGHT = 92;

export function Timeline({ maps }: { maps: Maps }) {
  const { dates } = useStore(maps);
  return dates?.ends && dates.bins.length > 0 ? <Periods dates={dates} ends={dates.ends} maps={maps} /> : null;
}

interface Props {
  dates: TargetDates;
  /** The first date and the last. */
  ends: [number, number];
  maps: Maps;
}

function Periods({ dates, ends, maps }: Props) {
  const { bins } = dates;
  const [dated, byCoordinate] = [Number(dates.dated), Number(dates.by_coordinate)];
  /** Where the period begins that is listed alone. */
  const chosen = useStore(maps).query.since ?? null;
  const [cursor, setCursor] = useState<number | null>(null);
  const [start, stop] = [bins[0]!.start!, bins.at(-1)!.stop!];
  const most = bins.reduce((top, { targets }) => Math.max(top, Number(targets)), 1);
  const empty = bins.filter(({ targets }) => Number(targets) === 0).length;
  const options = useMemo(
    () => (width: number) => ({
      width,
      height: HEIGHT,
      marginLeft: 46,
      marginRight: 12,
      marginTop: 6,
      marginBottom: 26,
      x: { type: "utc" as const, domain: [start, stop], label: null },
      y: {
        domain: [0, most],
        label: null,
        ticks: most < 3 ? [0, most] : 3,
        tickFormat: (at: number) => count(at),
        grid: true,
      },
      marks: [],
    }),
    [bins],
  );
  const paint = useMemo(
    () =>
      (context: CanvasRenderingContext2D, { x, y, inks }: Frame) => {
        for (const [i, bin] of bins.entries()) {
          const [left, right] = [Math.round(x(bin.start!)), Math.round(x(bin.stop!))];
          const gap = right - left > 4 ? 1 : 0;
          const bar = (n: number, colour: string) => {
            const height = n === 0 ? 0 : Math.max(2, y(0) - y(n));
            context.fillStyle = colour;
            context.fillRect(left, y(0) - height, right - left - gap, height);
          };
          bar(Number(bin.targets), inks.accent);
          bar(Number(bin.lost), inks.of("--bad"));
          if (i !== cursor && bin.start !== chosen) continue;
          context.strokeStyle = inks.ink;
          context.lineWidth = bin.start === chosen ? 2 : 1;
          context.strokeRect(left, y(most), right - left - gap, y(0) - y(most));
        }
      },
    [bins, cursor, chosen],
  );
  const pick = (at: number | null) => {
    const bin = at === null ? undefined : bins[at];
    if (bin)
      maps.narrowTargets(bin.start === chosen ? { since: null, until: null } : { since: bin.start, until: bin.stop });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by !== undefined) setCursor(Math.min(bins.length - 1, Math.max(0, (cursor ?? -by) + by)));
    else if (event.key === "Enter" || event.key === " ") pick(cursor);
    else return;
    event.preventDefault();
  };
  const without = Number(dates.total) - dated;
  const summary = [
    `${counted(dated, "file")} from ${moment(ends[0])} to ${moment(ends[1])}, ${by(byCoordinate, dated)}`,
    empty > 0 ? `${counted(empty, "period")} of ${count(bins.length)} without one` : "",
    without > 0 ? `${counted(without, "file")} without a date` : "",
  ]
    .filter(Boolean)
    .join("; ");
  return (
    <section class="timeline" aria-label="Files by date">
      <Board
        label={`${summary}. Arrow keys move, Enter lists the files of a period.`}
        options={options}
        paint={paint}
        point={(at) =>
          setCursor(at === null ? null : bins.findIndex((bin) => at[0] >= bin.start! && at[0] < bin.stop!))
        }
        pick={() => pick(cursor)}
        onKeyDown={onKeyDown}
        readout={cursor !== null && bins[cursor] ? said(bins[cursor]) : `${summary}.`}
      />
    </section>
  );
}

function by(coordinate: number, dated: number): string {
  if (coordinate === 0) return "by the dates in their names";
  if (coordinate === dated) return "by the time coordinate";
  return `${count(coordinate)} by the time coordinate, ${count(dated - coordinate)} by the dates in their names`;
}

function said({ start, stop, targets, lost }: DateBin): string {
  const troubled = Number(lost) > 0 ? `, ${count(lost)} of them with problems` : "";
  return `${moment(start!)} until ${moment(stop!)}: ${counted(targets, "file")}${troubled}`;
}
