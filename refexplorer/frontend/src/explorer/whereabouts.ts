/** What the explorer shows, as texts: on the page its address, in a notebook the trait `state`. */

import { LOOKS, type By } from "../maps/cells.ts";
import type { Span } from "../maps/maps.ts";
import type { Host, Off } from "../shared/host.ts";
import { PLACES, type Place, type Places } from "../shared/place.ts";
import type { Kind, Severity } from "../shared/wire.ts";
import { KINDS } from "../shared/format.ts";
import { STATE_NAMES, type ChunkState } from "../health/health.ts";
import type { ExplorerSession } from "./session.ts";
import { PLAIN, START, WHOLE, type Focus, type Mode, type Picture } from "./state.ts";

const NAMES = new Set<string>(PLACES);
const SYNTAXES: Mode[] = ["glob", "substring", "regex"];

/** Goes where Python asks, and tells it where the explorer is. */
export function followState(host: Host, session: ExplorerSession): Off {
  return host.place === "page" ? followAddress(host, session) : followTrait(host, session);
}

function followAddress(host: Host, session: ExplorerSession): Off {
  let step = -1;
  const tell = () => {
    const told = host.get("here") as Place;
    const here = { address: textOf(session), step };
    if (here.address !== told.address || here.step !== told.step) host.set("here", here);
  };
  const go = async () => {
    await session.opened;
    const [asked, here] = [host.get("asked") as Place, host.get("here") as Place];
    const { address } = here.step === asked.step ? here : asked;
    if (address !== textOf(session)) goTo(session, Object.fromEntries(new URLSearchParams(address)));
    step = asked.step;
    tell();
  };
  void go();
  const offs = [session.watchAll(tell), host.onChange("asked", () => void go())];
  return () => {
    for (const off of offs) off();
  };
}

/** Other views of the widget, and Python, share one trait: what came from there is not told back. */
function followTrait(host: Host, session: ExplorerSession): Off {
  if (session.part !== WHOLE) return () => undefined;
  let known = "";
  let going = true;
  const tell = () => {
    if (going || known === textOf(session)) return;
    known = textOf(session);
    host.set("state", placesOf(session));
  };
  const go = async () => {
    const asked = (host.get("state") ?? {}) as Places;
    if (sorted(asked) === known) return;
    going = true;
    await session.opened;
    const isFirst = known === "" && Object.keys(asked).length === 0;
    if (!isFirst) await goTo(session, asked);
    known = textOf(session);
    going = false;
  };
  void go();
  const offs = [session.watchAll(tell), host.onChange("state", () => void go())];
  return () => {
    for (const off of offs) off();
  };
}

function sorted(places: Places): string {
  return `${new URLSearchParams(PLACES.flatMap((name) => (places[name] ? [[name, places[name]]] : [])))}`;
}

function textOf(session: ExplorerSession): string {
  return sorted(placesOf(session));
}

/** Where the explorer is; what is as it is at first is left out. */
export function placesOf(session: ExplorerSession): Places {
  const { tab, selection, steps, search, focus, onlyTrouble, notesOf, severity, picture, by } = session.state;
  const { plan, isChosen, scale, times } = session.preview.state;
  const { grid } = session.maps.state;
  const isDrawn = picture.array !== null && [selection, session.state.item?.array?.path].includes(picture.array);
  const all: Places = {
    view: tab === START.tab ? "" : tab,
    key: selection,
    slice: steps.some((step) => step !== 0) ? steps.join(",") : "",
    part: plan && isChosen && plan.array === session.state.item?.array?.path ? plan.slices.join(",") : "",
    mode: isDrawn && picture.mode !== PLAIN.mode ? picture.mode : "",
    axes: isDrawn ? picture.axes.join(",") : "",
    colours: isDrawn && picture.scheme !== PLAIN.scheme ? picture.scheme : "",
    limits: isDrawn && picture.limits.some((text) => text !== "") ? picture.limits.join(",") : "",
    raw: [scale ? "" : "scale", times ? "" : "times"].filter(Boolean).join(","),
    find: search.text,
    syntax: search.mode === START.search.mode ? "" : search.mode,
    kinds: search.kinds.join(","),
    list: focus === null ? "" : listed(focus),
    only: onlyTrouble ? "trouble" : "",
    notes: severity ?? (notesOf === null ? "" : `of:${notesOf}`),
    by: by ?? "",
    map: grid && session.maps.isNarrowed() ? `${grid.axes.join(",")};${grid.window.map((span) => span.join("-")).join(",")};${grid.array}` : "",
  };
  return Object.fromEntries(Object.entries(all).filter(([, text]) => text !== ""));
}

function listed(focus: Focus): string {
  if (focus.by === "target") return focus.url === null ? "target" : `target:${focus.url}`;
  return focus.array === null ? focus.state : `${focus.state}:${focus.array}`;
}

/** What an address lists; null for what is no such thing. */
export function readListed(text: string): Focus | null {
  const at = text.indexOf(":");
  const [name, rest] = at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
  if (name === "target") return { by: "target", url: rest };
  return Object.hasOwn(STATE_NAMES, name) ? { by: "state", state: name as ChunkState, array: rest } : null;
}

/** Shows what some texts say; what cannot be read of them is as it is at first. */
async function goTo(session: ExplorerSession, asked: Places): Promise<void> {
  const places = Object.fromEntries(Object.entries(asked).filter(([name]) => NAMES.has(name))) as Places;
  const now = placesOf(session);
  const key = places.key ?? "";
  const list = readListed(places.list ?? "");
  const notes = places.notes ?? "";
  const tab = session.tabNamed(places.view ?? "");
  session.preview.set({ scale: !/scale/.test(places.raw ?? ""), times: !/times/.test(places.raw ?? "") });
  if (places.part !== undefined && places.part !== now.part) session.askedPart = places.part.split(",");
  if (places.map !== undefined && places.map !== now.map) restoreMap(session, places.map);
  const shown = {
    tab,
    steps: indices(places.slice ?? ""),
    picture: pictureOf(places),
    by: Object.hasOwn(LOOKS, places.by ?? "") ? (places.by as By) : null,
    severity: /^(error|warning|info)$/.test(notes) ? (notes as Severity) : null,
    notesOf: notes.startsWith("of:") ? notes.slice(3) : null,
  };
  const arrive = async () => {
    if ((places.only === "trouble") !== session.state.onlyTrouble) await session.showOnly(places.only === "trouble");
    const isListing = list !== null || places.find !== undefined || places.kinds !== undefined;
    if (key !== session.state.selection) await (isListing ? session.select(key) : session.reveal(key));
    if (list !== null) {
      if (places.list !== now.list) await session.narrow(list);
    } else {
      const search = { text: places.find ?? "", mode: syntaxOf(places.syntax), kinds: KINDS.filter((kind: Kind) => places.kinds?.split(",").includes(kind)) };
      if (JSON.stringify(search) !== JSON.stringify(session.state.search) || session.state.focus !== null) await session.find(search);
    }
    session.set(shown);
  };
  const arriving = arrive();
  session.run(arriving);
  session.set(shown);
  await arriving.catch(() => undefined);
}

function pictureOf(places: Places): Picture {
  const key = places.key ?? "";
  const limits = (places.limits ?? ",").split(",");
  const changed = places.mode ?? places.axes ?? places.colours ?? places.limits;
  return {
    ...PLAIN,
    // Whose picture it is shows when the key is known: a chunk's is that of its array.
    array: changed === undefined ? null : key,
    mode: isMode(places.mode) ? places.mode : PLAIN.mode,
    axes: indices(places.axes ?? ""),
    scheme: places.colours ?? PLAIN.scheme,
    limits: [limits[0] ?? "", limits[1] ?? ""],
  };
}

function isMode(text: string | undefined): text is Picture["mode"] {
  return text === "heatmap" || text === "line" || text === "table" || text === "statistics";
}

function syntaxOf(text: string | undefined): Mode {
  return SYNTAXES.find((each) => each === text) ?? START.search.mode;
}

function restoreMap(session: ExplorerSession, text: string): void {
  const [axes, window, ...array] = text.split(";");
  const spans = window?.split(",").map((span) => span.split("-").map(Number) as Span) ?? [];
  if (spans.flat().every((at) => Number.isInteger(at))) session.maps.showGrid(array.join(";"), indices(axes ?? ""), spans);
}

/** Whole numbers, none if one is not. */
function indices(text: string): number[] {
  const found = text === "" ? [] : text.split(",").map(Number);
  return found.every((at) => Number.isInteger(at) && at >= 0) ? found : [];
}
