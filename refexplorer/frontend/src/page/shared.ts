import { useLayoutEffect, useState } from "preact/hooks";

import type { Host } from "../shared/host.ts";
import type { Place } from "../shared/place.ts";

export interface OfferedSet {
  title: string;
  source: string;
}

/** What Python and the page share; `Frame` in refexplorer/hosts/page/page.py says what each is. */
interface PageTraits {
  view: string;
  screens: { name: string; label: string }[];
  place: Place;
  title: string;
  sets: OfferedSet[];
  opening: string;
  /** Bytes that were read, and all; empty while nothing is known of them. */
  opened: number[];
  problem: string;
  notice: string;
  /** Empty unless the set is of a lesson; `next` is the source of the one after it. */
  lesson: { title?: string; steps?: [title: string, paragraphs: string[]][]; next?: string };
  largest: number;
  /** What the field for a path or URL begins with. */
  typed: string;
}

/** A value that Python and the page share. */
export function useShared<K extends keyof PageTraits>(host: Host, name: K): PageTraits[K] {
  const [value, setValue] = useState(() => host.get(name) as PageTraits[K]);
  useLayoutEffect(() => {
    setValue(host.get(name) as PageTraits[K]);
    return host.onChange(name, (next) => setValue(next as PageTraits[K]));
  }, [host, name]);
  return value;
}
