/** Tab, key and slice as text: on the page they are part of its address, and follow it. */

import type { Host, Off } from "../shared/host.ts";
import type { Place } from "../shared/place.ts";
import type { ExplorerSession } from "./session.ts";
import { START, type ExplorerState } from "./state.ts";

/** Goes where Python asks, and tells it where the explorer is; a notebook has no address. */
export function followAddress(host: Host, session: ExplorerSession): Off {
  if (host.place !== "page") return () => undefined;
  let step = -1;
  const tell = () => {
    const told = host.get("here") as Place;
    const here = { address: textOf(session.state), step };
    if (here.address !== told.address || here.step !== told.step) host.set("here", here);
  };
  const go = async () => {
    await session.opened;
    const [asked, here] = [host.get("asked") as Place, host.get("here") as Place];
    const { address } = here.step === asked.step ? here : asked;
    if (address !== textOf(session.state)) goTo(session, new URLSearchParams(address));
    step = asked.step;
    tell();
  };
  void go();
  const offs = [session.watch(tell), host.onChange("asked", () => void go())];
  return () => {
    for (const off of offs) off();
  };
}

function goTo(session: ExplorerSession, asked: URLSearchParams): void {
  const [key, tab] = [asked.get("key") ?? "", asked.get("view") ?? ""];
  if (key !== session.state.selection) session.run(session.reveal(key));
  const steps = (asked.get("slice") ?? "").split(",").map(Number);
  session.set({ tab: session.tabNamed(tab), steps: steps.every(isIndex) ? steps : [] });
}

function isIndex(step: number): boolean {
  return Number.isInteger(step) && step >= 0;
}

function textOf({ tab, selection, steps }: ExplorerState): string {
  const slice = steps.some((step) => step !== 0) ? steps.join(",") : "";
  const parts = { view: tab === START.tab ? "" : tab, key: selection, slice };
  return `${new URLSearchParams(Object.entries(parts).filter(([, text]) => text !== ""))}`;
}
