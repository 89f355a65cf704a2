/** Tab, key and slice as text: on the page they are part of its address, and follow it. */

import type { Host, Off } from "../shared/host.ts";
import { type ExplorerSession } from "./session.ts";
import { TABS, type ExplorerState, type Tab } from "./state.ts";

/** Keeps `address` of the host and the state of the explorer the same; a notebook has none. */
export function followAddress(host: Host, session: ExplorerSession): Off {
  if (host.place !== "page") return () => undefined;
  // While the explorer goes where the address says, what it passes on the way is not told.
  let going = true;
  const tell = () => {
    const text = textOf(session.state);
    if (!going && host.get("address") !== text) host.set("address", text);
  };
  const go = async () => {
    going = true;
    await goTo(session, new URLSearchParams(String(host.get("address"))));
    going = false;
    tell();
  };
  void session.opened.then(go);
  const offs = [session.watch(tell), host.onChange("address", (text) => {
    if (!going && text !== textOf(session.state)) void go();
  })];
  return () => offs.forEach((off) => off());
}

async function goTo(session: ExplorerSession, asked: URLSearchParams): Promise<void> {
  const [key, tab] = [asked.get("key") ?? "", asked.get("view") ?? ""];
  try {
    if (key !== session.state.selection) await session.reveal(key);
    const steps = (asked.get("slice") ?? "").split(",").map(Number);
    session.set({ tab: tab in TABS ? (tab as Tab) : "overview", steps: steps.every(isIndex) ? steps : [] });
  } catch (error) {
    session.set({ trouble: (error as Error).message });
  }
}

function isIndex(step: number): boolean {
  return Number.isInteger(step) && step >= 0;
}

function textOf({ tab, selection, steps }: ExplorerState): string {
  const slice = steps.some((step) => step !== 0) ? steps.join(",") : "";
  const parts = { view: tab === "overview" ? "" : tab, key: selection, slice };
  return `${new URLSearchParams(Object.entries(parts).filter(([, text]) => text !== ""))}`;
}
