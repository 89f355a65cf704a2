/** What the page asks Python and hears from it: nothing is answered, `PageTraits` show what comes of it. */

import type { Host, Off } from "../shared/host.ts";
import type { Fields, PageEvents, PageOperations } from "../shared/wire.ts";

export function ask<K extends keyof PageOperations>(
  host: Host,
  op: K,
  ...[fields]: Fields<PageOperations[K]["asks"]>
): void {
  host.send({ op, ...fields });
}

export function hear<K extends keyof PageEvents>(host: Host, name: K, callback: (event: PageEvents[K]) => void): Off {
  return host.onMessage((message) => {
    if (message["ev"] === name) callback(message as unknown as PageEvents[K]);
  });
}
