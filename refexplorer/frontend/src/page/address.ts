/** The address of the page: it follows where the person is, and the person follows it. */

import type { Host, Off, Place } from "../shared/host.ts";
import { ask } from "./wire.ts";

/** Keys that are chosen sooner after each other than this are one step back, ms. */
const STEP = 1000;

/** Sets the browser's address to the `place` from Python; back and forward work. */
export function followAddress(host: Host): Off {
  forgetToken();
  const names = host.get("names") as string[];
  const ours = (query: string) => split(query, names)[0];
  let asked = (host.get("place") as Place).step;
  let [answered, moved] = [asked - 1, 0];
  const tell = ({ address, step }: Place) => {
    // On its way since before the last step through the history, which it would undo.
    if (step < asked) return;
    const isAnswer = step > answered;
    answered = step;
    const [from, to] = [ours(location.search), ours(address)];
    if (`${from}` === `${to}`) return;
    const isNear = from.get("source") === to.get("source") && from.get("view") === to.get("view");
    const isOneStep = isNear && (from.get("key") === to.get("key") || Date.now() - moved < STEP);
    if (isNear) moved = Date.now();
    const query = [`${split(location.search, names)[1]}`, address].filter(Boolean).join("&");
    const url = location.pathname + (query && `?${query}`);
    history[isAnswer || isOneStep ? "replaceState" : "pushState"](null, "", url);
  };
  const go = () => {
    asked += 1;
    ask(host, "go", { address: location.search.slice(1), step: asked });
  };
  if (`${ours(location.search)}` === "") tell(host.get("place") as Place);
  else go();
  addEventListener("popstate", go);
  const off = host.onChange("place", (place) => tell(place as Place));
  return () => {
    removeEventListener("popstate", go);
    off();
  };
}

/** Takes the secret that proves the owner of the page out of the address, which may be copied. */
function forgetToken(): void {
  const all = new URLSearchParams(location.search);
  if (!all.has("token")) return;
  all.delete("token");
  const query = `${all}`;
  history.replaceState(null, "", location.pathname + (query && `?${query}`));
}

/** The part of a query that says where the person is, in one order, and what a proxy or a hub put there. */
function split(query: string, names: string[]): [URLSearchParams, URLSearchParams] {
  const all = new URLSearchParams(query);
  const ours = new URLSearchParams(names.filter((name) => all.get(name)).map((name) => [name, all.get(name)!]));
  for (const name of names) all.delete(name);
  return [ours, all];
}
