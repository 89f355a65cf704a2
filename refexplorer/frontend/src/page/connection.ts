/** Whether the server is still there: Bokeh tells its documents when the connection is gone. */

import { useEffect, useState } from "preact/hooks";

interface BokehDocument {
  on_event(name: string, callback: () => void): void;
}

export function useLost(): boolean {
  const [lost, setLost] = useState(false);
  useEffect(() => {
    const { Bokeh } = globalThis as { Bokeh?: { documents: BokehDocument[] } };
    for (const document of Bokeh?.documents ?? []) document.on_event("connection_lost", () => setLost(true));
  }, []);
  return lost;
}
