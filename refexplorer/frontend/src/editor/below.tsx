/** The explorer of the edited set, below the editor: only in a notebook, the page turns to its own. */

import { useEffect, useRef, useState } from "preact/hooks";

import type { Child, Host } from "../shared/host.ts";

export function Below({ host }: { host: Host }) {
  const box = useRef<HTMLDivElement>(null);
  const [turns, turn] = useState(0);
  useEffect(() => {
    if (host.place === "notebook") return host.onChange("explorer", () => turn((times) => times + 1));
  }, [host]);
  useEffect(() => {
    let child: Child | null = null;
    let isCurrent = true;
    host.child("explorer").then((drawn) => {
      if (!isCurrent) return drawn?.remove();
      child = drawn;
      if (child) {
        box.current?.append(child.element);
        if (turns > 0) box.current?.scrollIntoView({ block: "nearest" });
      }
    });
    return () => {
      isCurrent = false;
      child?.remove();
    };
  }, [host, turns]);
  return <div class="below" ref={box} />;
}
