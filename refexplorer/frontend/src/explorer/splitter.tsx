/** The line between the tree and the details, which a person can move. */

import { useState } from "preact/hooks";

import { keep, kept } from "./layout.ts";

const LEAST = 20;
const MOST = 70;
const STEP = 2;

/** Share of the width that the tree has, percent; remembered. */
export function useShare(): [number, (share: number) => void] {
  const [share, setShare] = useState(() => kept().tree);
  const move = (to: number) => {
    const tree = Math.min(MOST, Math.max(LEAST, to));
    setShare(tree);
    keep({ tree });
  };
  return [share, move];
}

export function Splitter({ share, move }: { share: number; move(share: number): void }) {
  const onPointerMove = (event: PointerEvent) => {
    const line = event.currentTarget as HTMLElement;
    if (!line.hasPointerCapture(event.pointerId)) return;
    const { left, width } = line.parentElement!.getBoundingClientRect();
    move((100 * (event.clientX - left)) / width);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowLeft: share - STEP, ArrowRight: share + STEP, Home: LEAST, End: MOST }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };
  return (
    <div
      class="splitter"
      role="separator"
      tabIndex={0}
      aria-label="Width of the tree"
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
