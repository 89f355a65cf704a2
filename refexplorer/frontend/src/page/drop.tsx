/** The area to drop or choose a file; it says first which files the page accepts. */

import { useEffect, useState } from "preact/hooks";

import { FileButton } from "../shared/controls.tsx";
import { Button, Sentence } from "../shared/parts.tsx";
import { bytes } from "../shared/format.ts";
import { COMPARE_FILE, type Host } from "../shared/host.ts";
import { useStore } from "../shared/store.ts";
import { Upload, useShared } from "./wire.ts";

const NO_FOLDER = "A folder cannot be dropped; open it by its path or URL instead.";

export function Drop({ host, busy }: { host: Host; busy: boolean }) {
  const { upload, largest, refusal, refuse, take } = useUpload(host);
  const [over, setOver] = useState(false);
  const onDrop = (event: DragEvent) => {
    setOver(false);
    const file = dropped(event);
    if (file === null) refuse(NO_FOLDER);
    else if (!busy) take(file);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a place to drop a file; the button in it does the same
    <section
      class="drop"
      data-over={over}
      onDragOver={(event) => {
        event.preventDefault(); // or the browser would leave the page for the file
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <Sending upload={upload} refusal={refusal} />
      {upload.state.file === null && (
        <>
          <FileButton label="Reference set to open" disabled={busy} choose={take} />
          <p class="quiet">
            or drop one here, of at most {bytes(largest)}. It is kept in memory, for you only, until you leave the page.
          </p>
        </>
      )}
    </section>
  );
}

/** A file that is dropped on the set that is open: it is opened, or that set is compared with it. */
export function DropOver({ host, title, on }: { host: Host; title: string; on: boolean }) {
  const { upload, refusal, refuse, take } = useUpload(host);
  const [file, choose] = useState<File | null>(null);
  const [compares, setCompares] = useState(false);
  const problem = useShared(host, "problem");
  const turn = (next: File | null, why: string | null = null, isCompared = false) => {
    choose(next);
    refuse(why);
    setCompares(isCompared);
  };
  useEffect(() => {
    const onDrop = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      const found = dropped(event);
      turn(found ?? null, found === null ? NO_FOLDER : null);
    };
    const off = new AbortController();
    if (on) document.addEventListener("dragover", (event) => event.preventDefault(), off);
    if (on) document.addEventListener("drop", onDrop, off);
    if (on) document.addEventListener(COMPARE_FILE, (event) => start(true, (event as CustomEvent<File>).detail), off);
    return () => off.abort();
  }, [on]);
  const start = (isCompared: boolean, chosen = file!) => {
    turn(null, null, isCompared);
    take(chosen, isCompared);
  };
  const why = refusal ?? (compares && problem !== "" ? problem : null);
  if (!on || (file === null && why === null && upload.state.file === null)) return null;
  return (
    <section class="dropped" aria-label="Dropped file">
      <Sending upload={upload} refusal={why} />
      {file && <b>{file.name}</b>}
      {file && <Button text={`Compare ${title} with this`} main onClick={() => start(true)} />}
      {file && <Button text="Open" onClick={() => start(false)} />}
      {upload.state.file === null && <Button text="Cancel" onClick={() => turn(null)} />}
    </section>
  );
}

/** The sending of one file at a time, and why the last one was refused. */
function useUpload(host: Host) {
  const [upload] = useState(() => new Upload(host));
  useEffect(() => () => upload.close(), [upload]);
  useStore(upload);
  const largest = useShared(host, "largest");
  const [refusal, refuse] = useState<string | null>(null);
  const take = (chosen: File | undefined, compares = false) => {
    if (!chosen) return;
    const reason = refusalOf(chosen, largest);
    refuse(reason);
    if (reason === null) upload.start(chosen, compares);
  };
  return { upload, largest, refusal, refuse, take };
}

function Sending({ upload, refusal }: { upload: Upload; refusal: string | null }) {
  const { file, sent } = upload.state;
  return (
    <>
      {file && <progress max={file.size} value={sent} aria-label={`Sending ${file.name}`} />}
      {file && <Button text="Cancel" onClick={() => upload.stop()} />}
      {refusal !== null && (
        <p class="bad" role="alert">
          <Sentence text={refusal} />
        </p>
      )}
    </>
  );
}

/** The file of a drop; null for a folder. */
function dropped(event: DragEvent): File | undefined | null {
  event.preventDefault();
  const item = event.dataTransfer?.items[0];
  return item?.webkitGetAsEntry()?.isDirectory ? null : event.dataTransfer?.files[0];
}

function refusalOf(file: File, largest: number): string | null {
  if (file.size === 0) return `${file.name} is empty.`;
  if (file.size <= largest) return null;
  return `${file.name} has ${bytes(file.size)}, more than this page accepts; open it by its path or URL instead.`;
}
