/** The address of the page: it follows where the person is, and the person follows it. */

import type { Host, Off } from "../shared/host.ts";

const NAMES = ["source", "view", "key", "slice"];
/** Keys that are chosen sooner after each other than this are one step back, ms. */
const STEP = 1000;

/** Keeps `address` of the host and the browser's address the same; back and forward work. */
export function followAddress(host: Host): Off {
  let moved = 0;
  const tell = (address: string) => {
    const [from, to] = [ours(location.search), ours(address)];
    if (`${from}` === `${to}`) return;
    const isNear = from.get("source") === to.get("source") && from.get("view") === to.get("view");
    const isOneStep = isNear && (from.get("key") === to.get("key") || Date.now() - moved < STEP);
    if (isNear) moved = Date.now();
    const query = [others(location.search), address].filter(Boolean).join("&");
    const url = location.pathname + (query && `?${query}`);
    history[isOneStep ? "replaceState" : "pushState"](null, "", url);
  };
  const go = () => host.send({ op: "go", address: location.search.slice(1) });
  if (`${ours(location.search)}` === "") tell(String(host.get("address")));
  else go();
  addEventListener("popstate", go);
  const off = host.onChange("address", (address) => tell(String(address)));
  return () => {
    removeEventListener("popstate", go);
    off();
  };
}

/** The part of a query that says where the person is. */
function ours(query: string): URLSearchParams {
  const all = new URLSearchParams(query);
  return new URLSearchParams(NAMES.filter((name) => all.get(name)).map((name) => [name, all.get(name)!]));
}

/** The part that a proxy or a hub put there. */
function others(query: string): string {
  const all = new URLSearchParams(query);
  for (const name of NAMES) all.delete(name);
  return `${all}`;
}
