/** Where a file is dropped or chosen; what the page takes is said before. */

import { useEffect, useRef, useState } from "preact/hooks";

import { Button } from "../shared/parts.tsx";
import { bytes } from "../shared/format.ts";
import type { Host } from "../shared/host.ts";
import { useStore } from "../shared/store.ts";
import { Upload } from "./upload.ts";

interface Props {
  host: Host;
  largest: number;
  busy: boolean;
}

export function Drop({ host, largest, busy }: Props) {
  const [upload] = useState(() => new Upload(host));
  useEffect(() => () => upload.close(), [upload]);
  const { file, sent } = useStore(upload);
  const [refusal, refuse] = useState<string | null>(null);
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (chosen: File | undefined) => {
    if (!chosen) return;
    const reason = refusalOf(chosen, largest);
    refuse(reason);
    if (reason === null) upload.start(chosen);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const item = event.dataTransfer?.items[0];
    if (item?.webkitGetAsEntry()?.isDirectory)
      refuse("A folder cannot be dropped; enter its path or URL above instead.");
    else if (!busy) take(event.dataTransfer?.files[0]);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a place to drop a file; the button in it does the same
    <section
      class="drop"
      data-over={over}
      onDragOver={dragged(setOver)}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      {file === null ? (
        <>
          <Button text="Choose a file" disabled={busy} onClick={() => input.current!.click()} />
          <p class="quiet">
            or drop one here, of at most {bytes(largest)}. It is kept in memory, for you only, until you leave the page.
          </p>
        </>
      ) : (
        <>
          <progress max={file.size} value={sent} aria-label={`Sending ${file.name}`} />
          <Button text="Cancel" onClick={() => upload.stop()} />
        </>
      )}
      {refusal !== null && (
        <p class="bad" role="alert">
          {refusal}
        </p>
      )}
      <input
        ref={input}
        type="file"
        hidden
        aria-label="Reference set to open"
        onChange={(event) => {
          take(event.currentTarget.files?.[0]);
          event.currentTarget.value = "";
        }}
      />
    </section>
  );
}

/** Without this the browser would leave the page for the file. */
function dragged(setOver: (over: boolean) => void) {
  return (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
}

function refusalOf(file: File, largest: number): string | null {
  if (file.size === 0) return `${file.name} is empty.`;
  if (file.size <= largest) return null;
  return `${file.name} has ${bytes(file.size)}, more than this page accepts; enter its path or URL above instead.`;
}
