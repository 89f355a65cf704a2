/** The chunks along one dimension of an array: all of one length, or runs of chunks of one length. */

import type { ReadingModel } from "../shared/wire.ts";

type Runs = NonNullable<ReadingModel["chunk_runs"]>;

export interface ChunkAxis {
  /** The chunk that an element is in. */
  at(place: number): number;
  /** The first element of a chunk. */
  start(chunk: number): number;
}

/** @param sizes - The length of a chunk along each dimension, of the longest where they differ. */
export function axesOf(sizes: readonly (number | string)[], runs: Runs | null | undefined): ChunkAxis[] {
  return sizes.map((size, dimension) => (runs ? varying(runs[dimension]!) : regular(Number(size))));
}

function regular(size: number): ChunkAxis {
  return { at: (place) => Math.floor(place / size), start: (chunk) => chunk * size };
}

function varying(runs: Runs[number]): ChunkAxis {
  const [firsts, begins, lengths] = [0, 1, 2].map((part) => runs.map((run) => Number(run[part])));
  return {
    at: (place) => {
      const run = lastUpTo(begins!, place);
      return firsts![run]! + Math.floor((place - begins![run]!) / lengths![run]!);
    },
    start: (chunk) => {
      const run = lastUpTo(firsts!, chunk);
      return begins![run]! + (chunk - firsts![run]!) * lengths![run]!;
    },
  };
}

/** The last of ascending numbers that is no larger than one; the first where all are. */
function lastUpTo(numbers: readonly number[], number: number): number {
  let [low, high] = [0, numbers.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! <= number) low = middle;
    else high = middle;
  }
  return low;
}
