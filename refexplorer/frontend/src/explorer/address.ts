/** What the explorer shows, as texts: on the page its address, in a notebook the trait `state`. */

import type { Comparing, ComparingState } from "../compare/comparison.ts";
import { LOOKS, type By } from "../maps/cells.ts";
import { indices, isNarrowed, readSpans, spansText } from "../maps/maps.ts";
import { type Host, type Off, PLACES, type Place, type Places } from "../shared/host.ts";
import type { Kind, Severity } from "../shared/wire.ts";
import { KINDS } from "../shared/format.ts";
import { STATE_NAMES, type ChunkState } from "../health/health.ts";
import type { ExplorerSession } from "./session.ts";
import type { Spot } from "./view.ts";
import { PLAIN, START, WHOLE, type Focus, type Only, type Picture } from "./state.ts";

/** Goes where Python requests, and reports to it where the explorer is. */
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
    if (address !== textOf(session)) await goTo(session, Object.fromEntries(new URLSearchParams(address)));
    // On the way there, what is shown is less than what the address says.
    if ((host.get("asked") as Place).step === asked.step) step = asked.step;
    tell();
  };
  void go();
  return both(
    session.watchAll(tell),
    host.onChange("asked", () => void go()),
  );
}

function both(one: Off, other: Off): Off {
  return () => {
    one();
    other();
  };
}

/** Other views of the widget, and Python, share one trait: a value from there is not sent back. */
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
    if (sorted(session, asked) === known) return;
    going = true;
    await session.opened;
    const isFirst = known === "" && Object.keys(asked).length === 0;
    if (!isFirst) await goTo(session, asked);
    known = textOf(session);
    going = false;
  };
  void go();
  return both(
    session.watchAll(tell),
    host.onChange("state", () => void go()),
  );
}

/** What views say in an address, by their names in it. */
function spotsOf({ views }: ExplorerSession): [string, Spot][] {
  return views.flatMap(({ address = {} }) => Object.entries(address));
}

/** In the order of the names. */
function sorted(session: ExplorerSession, places: Places): string {
  const names = [...PLACES, ...spotsOf(session).map(([name]) => name)];
  return `${new URLSearchParams(names.flatMap((name) => (places[name] ? [[name, places[name]]] : [])))}`;
}

function textOf(session: ExplorerSession): string {
  return sorted(session, placesOf(session));
}

/** Where the explorer is; what is as it is at first is left out. */
export function placesOf(session: ExplorerSession): Places {
  const { look, selection, steps, search, focus, only, notesOf, severity, picture, by } = session.state;
  const { plan, isChosen, scale, times } = session.preview.state;
  const { listed: keys } = session.comparing.state;
  const isDrawn = picture.array !== null && [selection, session.state.item?.array?.path].includes(picture.array);
  const all: Places = {
    view: look === START.look ? "" : look,
    key: selection,
    slice: steps.some((step) => step !== 0) ? steps.join(",") : "",
    part: plan && isChosen && plan.array === session.state.item?.array?.path ? plan.slices.join(",") : "",
    mode: isDrawn && picture.mode !== PLAIN.mode ? picture.mode : "",
    axes: isDrawn ? picture.axes.join(",") : "",
    colours: isDrawn && picture.scheme !== PLAIN.scheme ? picture.scheme : "",
    limits: isDrawn && picture.limits.some((text) => text !== "") ? picture.limits.join(",") : "",
    raw: [scale ? "" : "scale", times ? "" : "times"].filter(Boolean).join(","),
    find: search.text,
    kinds: search.kinds.join(","),
    list: focus === null ? "" : listed(focus),
    only: only ?? "",
    notes: severity ?? (notesOf === null ? "" : `of:${notesOf}`),
    by: by ?? "",
    other: session.comparing.state.source,
    gone: look === "compare" ? goneText(session.comparing.state) : "",
    changes: keys.change === null && keys.folder === "" ? "" : `${keys.change ?? ""}:${keys.folder}`,
  };
  const found = [...Object.entries(all), ...spotsOf(session).map(([name, spot]) => [name, spot.text(session)])];
  return Object.fromEntries(found.filter(([, text]) => text !== ""));
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
async function goTo(session: ExplorerSession, places: Places): Promise<void> {
  const now = placesOf(session);
  const key = places.key ?? "";
  const list = readListed(places.list ?? "");
  const notes = places.notes ?? "";
  const look = session.lookNamed(places.view ?? "");
  session.preview.set({ scale: !/scale/.test(places.raw ?? ""), times: !/times/.test(places.raw ?? "") });
  if (places.part !== now.part) {
    session.askedPart = places.part === undefined ? null : { key, slices: places.part.split(",") };
    session.picked = null;
    if (session.state.item?.path === key) session.set({ partsAsked: session.state.partsAsked + 1 });
  }
  const spots = spotsOf(session).filter(([name]) => (places[name] ?? "") !== (now[name] ?? ""));
  const goToSpots = (late: boolean) => {
    for (const [name, spot] of spots) if (late === (spot.isLate === true)) spot.show(session, places[name] ?? "");
  };
  goToSpots(false);
  const shown = {
    look,
    steps: indices(places.slice ?? ""),
    picture: pictureOf(places),
    by: Object.hasOwn(LOOKS, places.by ?? "") ? (places.by as By) : null,
    severity: /^(error|warning|info)$/.test(notes) ? (notes as Severity) : null,
    notesOf: notes.startsWith("of:") ? notes.slice(3) : null,
  };
  const arrive = async () => {
    const { other = "", changes = ":" } = places;
    if (other !== (now.other ?? "")) await session.comparing.compare(other);
    goToSpots(true);
    const [change, ...folder] = changes.split(":");
    if (changes !== (now.changes ?? ":")) session.comparing.list({ change: change || null, folder: folder.join(":") });
    const only = onlyOf(places.only);
    if (only !== session.state.only && (only !== "changes" || other !== "")) await session.showOnly(only);
    const isListing = list !== null || places.find !== undefined || places.kinds !== undefined;
    if (key !== session.state.selection) await (isListing ? session.select(key) : session.reveal(key));
    if ((places.gone ?? "") !== goneText(session.comparing.state)) await showGone(session.comparing, places.gone ?? "");
    if (list !== null) {
      if (places.list !== now.list) await session.narrow(list);
    } else {
      const search = {
        text: places.find ?? "",
        kinds: KINDS.filter((kind: Kind) => places.kinds?.split(",").includes(kind)),
      };
      if (JSON.stringify(search) !== JSON.stringify(session.state.search) || session.state.focus !== null)
        await session.find(search);
    }
    session.set(shows === session.shows ? shown : { ...shown, look: session.state.look });
  };
  const shows = session.shows;
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
  return ["heatmap", "channel", "line", "lines", "table", "statistics"].includes(text ?? "");
}

function onlyOf(text: string | undefined): Only | null {
  return text === "trouble" || text === "changes" ? text : null;
}

/** The removed array that is looked at, as a query of its own. */
function goneText({ gone, goneChunk }: ComparingState): string {
  if (gone === null) return "";
  const { array, axes, window } = gone;
  const shown = isNarrowed(gone) ? { axes: axes.join(","), window: spansText(window) } : {};
  return `${new URLSearchParams({ array, ...(goneChunk === null ? {} : { chunk: goneChunk }), ...shown })}`;
}

async function showGone(comparing: Comparing, text: string): Promise<void> {
  const found = new URLSearchParams(text);
  const array = found.get("array");
  if (array === null) return comparing.leaveGone();
  const window = readSpans(found.get("window"));
  await comparing.showGone(array, window && indices(found.get("axes") ?? ""), window, found.get("chunk"));
}
