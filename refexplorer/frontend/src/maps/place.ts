/** Where the maps are, as texts for addresses: a part of a grid of chunks, and the query of the table of targets. */

import type { ExplorerSession } from "../explorer/session.ts";
import { isNarrowed, type GridPicture, type Query, type Span } from "./maps.ts";

export function gridText(grid: GridPicture | null | undefined): string {
  return grid && isNarrowed(grid) ? `${grid.axes.join(",")};${spansText(grid.window)};${grid.array}` : "";
}

/** Goes to what `gridText` wrote. */
export function showGrid(session: ExplorerSession, text: string): void {
  const [axes, window, ...array] = text.split(";");
  const spans = readSpans(window ?? null);
  if (spans === null) return;
  session.set({ asGrid: true });
  session.maps.openGrid(array.join(";"), indices(axes ?? ""), spans);
}

export function filesText({ open, slices, ...others }: Query): string {
  const texts = Object.entries(others).map(([name, value]) => [name, String(value)]);
  const lists = Object.entries({ slices: slices ?? [], open: open ?? [] });
  return `${new URLSearchParams([...texts, ...lists.flatMap(([name, list]) => list.map((text) => [name, text]))])}`;
}

const SORTS = ["name", "ranges", "bytes", "share", "size", "state", "date"];

/** What `filesText` wrote; what is no such thing is left out. */
export function filesQuery(text: string): Query {
  const found = new URLSearchParams(text);
  const one = (name: string, allowed: string[]) => (allowed.includes(found.get(name) ?? "") ? found.get(name) : null);
  const number = (name: string) => (/^-?\d+(\.\d+)?$/.test(found.get(name) ?? "") ? Number(found.get(name)) : null);
  return {
    array: found.get("array"),
    slices: found.has("slices") ? found.getAll("slices") : null,
    find: found.get("find") ?? "",
    since: number("since"),
    until: number("until"),
    sort: (one("sort", SORTS) ?? "set") as Query["sort"] & string,
    descending: found.get("descending") === "true",
    fold: (one("fold", ["folder", "host"]) ?? "none") as Query["fold"] & string,
    open: found.getAll("open"),
  };
}

export function spansText(window: Span[]): string {
  return window.map((span) => span.join("-")).join(",");
}

/** What `spansText` wrote; null for what is no such thing. */
export function readSpans(text: string | null): Span[] | null {
  const spans = text?.split(",").map((span) => span.split("-").map(Number)) ?? [];
  return spans.length > 0 && spans.every((span) => span.length === 2 && span.every(Number.isInteger))
    ? (spans as Span[])
    : null;
}

/** Whole numbers, none if one is not. */
export function indices(text: string): number[] {
  const found = text === "" ? [] : text.split(",").map(Number);
  return found.every((at) => Number.isInteger(at) && at >= 0) ? found : [];
}
