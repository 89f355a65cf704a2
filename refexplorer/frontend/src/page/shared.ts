import { useLayoutEffect, useState } from "preact/hooks";

import type { Host } from "../shared/host.ts";

/** A value that Python and the page share. */
export function useShared<T>(host: Host, name: string): T {
  const [value, setValue] = useState(() => host.get(name) as T);
  useLayoutEffect(() => {
    setValue(host.get(name) as T);
    return host.onChange(name, (next) => setValue(next as T));
  }, [host, name]);
  return value;
}
