/** The chunks along a dimension as a strip of cells: what is read, missing, wrong. */

import * as Plot from "@observablehq/plot";

import { series } from "./palette.ts";

interface Props {
  /** A letter for each part: `strip_of` and `coloured_strip` of Python say which. */
  text: string;
  height: number;
}

const WORDS: Record<string, string> = {
  x: "failed or rejected",
  d: "different from the file",
  "-": "without a reference",
  p: "partly without a reference",
};

export function ChunkStrip({ text, height }: Props) {
  const runs = runsOf(text);
  const cells = text.length <= 24;
  return (
    <svg
      class={`strip${cells ? " cells-seen" : ""}`}
      viewBox={`0 0 ${text.length} ${height}`}
      height={height}
      preserveAspectRatio="none"
      role="img"
      aria-label={stripWords(text)}
    >
      {runs.map(({ letter, from, length }) => (
        <rect
          key={from}
          class={`strip-${CLASSES[letter] ?? "r"}`}
          fill={FILLS[letter]}
          x={from}
          y={0}
          width={length}
          height={height}
        >
          {WORDS[letter] && <title>{WORDS[letter]}</title>}
        </rect>
      ))}
      {cells &&
        Array.from({ length: text.length - 1 }, (_, i) => (
          <line
            key={i}
            class="strip-edge"
            x1={i + 1}
            x2={i + 1}
            y1={0}
            y2={height}
            vector-effect="non-scaling-stroke"
          />
        ))}
    </svg>
  );
}

/** From the least to the greatest size, offset or number of reads, as on the picture. */
const LEVELS = [..."abcefghjkl"];
const RAMP = Plot.scale({ color: { type: "linear", scheme: "viridis", domain: [0, LEVELS.length - 1] } });

const CLASSES: Record<string, string> = {
  x: "bad",
  d: "differs",
  "-": "absent",
  p: "partial",
  v: "read",
  ...Object.fromEntries([..."IBURi0123456", ...LEVELS].map((letter) => [letter, "own"])),
};

/** Kinds, files and numbers by the colours that they have in the picture. */
const FILLS: Record<string, string> = {
  I: "var(--inline)",
  B: "var(--base64)",
  U: "var(--url)",
  R: "var(--range)",
  i: series(-1).colour,
  ...Object.fromEntries(Array.from({ length: 7 }, (_, number) => [number, series(number).colour])),
  ...Object.fromEntries(LEVELS.map((letter, level) => [letter, String(RAMP.apply(level))])),
};

/** The contents of a strip as text, for screen readers. */
function stripWords(text: string): string {
  const wrong = Object.keys(WORDS).filter((letter) => text.includes(letter));
  if (wrong.length === 0) return "chunks: no known problems";
  return `chunks: some are ${wrong.map((letter) => WORDS[letter]).join(", some ")}`;
}

function runsOf(text: string): { letter: string; from: number; length: number }[] {
  const runs: { letter: string; from: number; length: number }[] = [];
  [...text].forEach((letter, at) => {
    const last = runs.at(-1);
    if (last?.letter === letter) last.length += 1;
    else runs.push({ letter, from: at, length: 1 });
  });
  return runs;
}
