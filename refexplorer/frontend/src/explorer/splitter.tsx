/** The lines between the panes, which a person can move. */

import { useState } from "preact/hooks";

import { keep, kept, type Arrangement } from "./layout.ts";

const LEAST = 12;
const MOST = 60;
const STEP = 2;

type Side = "tree" | "aside";
type Shares = Pick<Arrangement, Side>;

/** Shares of the width that the sides have, percent; remembered. */
export function useShares(): { shares: Shares; move(side: Side, share: number): void } {
  const [shares, setShares] = useState<Shares>(() => kept());
  const move = (side: Side, to: number) => {
    const next = { ...shares, [side]: Math.min(MOST, Math.max(LEAST, to)) };
    setShares(next);
    keep({ tree: next.tree, aside: next.aside });
  };
  return { shares, move };
}

interface Props {
  side: Side;
  share: number;
  move(side: Side, share: number): void;
}

export function Splitter({ side, share, move }: Props) {
  const isLeft = side === "tree";
  const onPointerMove = (event: PointerEvent) => {
    const line = event.currentTarget as HTMLElement;
    if (!line.hasPointerCapture(event.pointerId)) return;
    const { left, right, width } = line.parentElement!.getBoundingClientRect();
    move(side, (100 * (isLeft ? event.clientX - left : right - event.clientX)) / width);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = isLeft ? STEP : -STEP;
    const to = { ArrowLeft: share - by, ArrowRight: share + by, Home: LEAST, End: MOST }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(side, to);
  };
  return (
    <div
      class={`splitter ${side}-splitter`}
      role="separator"
      tabIndex={0}
      aria-label={isLeft ? "Width of the keys" : "Width of the details"}
      aria-orientation="vertical"
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      aria-valuenow={Math.round(share)}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={onPointerMove}
      onKeyDown={onKeyDown}
    />
  );
}
