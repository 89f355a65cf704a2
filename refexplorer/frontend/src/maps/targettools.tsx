/** Above the table of targets: what is searched for, how it is folded, what it is narrowed to, the list of it. */

import { useEffect, useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { Failure } from "../shared/asking.tsx";
import { count, counted, moment } from "../shared/format.ts";
import { Button, toClipboard } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Query } from "./maps.ts";
import { Choice } from "./mapparts.tsx";

const FOLDS: [string, string][] = [
  ["none", "nothing"],
  ["folder", "folder"],
  ["host", "host"],
];

export function TargetTools({ session }: { session: ExplorerSession }) {
  const { maps } = session;
  const { query, found, files } = useStore(maps);
  const [said, say] = useState<string | null>(null);
  const [failed, fail] = useState<string | null>(null);
  const list = async (form: "text" | "csv") => {
    fail(null);
    try {
      const { name, text, left } = await maps.listTargets(form);
      if (form === "csv") save(name, text);
      const done =
        form === "csv" ? "Saved" : (await toClipboard(text)) ? "Copied" : "The browser refused to copy the list";
      say(left > 0 ? `${done}; ${count(left)} more do not fit in one list` : done);
    } catch (error) {
      fail((error as Error).message);
    }
  };
  useEffect(() => say(null), [query]);
  const total = files?.total ?? null;
  const isNarrowed = Object.keys(query).some((name) => !["sort", "descending", "fold", "open"].includes(name));
  useEffect(() => {
    // the overview asks for it, which an address may leave out
    if (isNarrowed && found !== null && total === null) void maps.sumTargets();
  }, [isNarrowed, found === null, total === null]);
  return (
    <div class="target-tools">
      <div class="controls">
        <input
          class="field"
          type="search"
          aria-label="Find files"
          placeholder="Find files, such as 2020 or *.nc"
          spellcheck={false}
          value={query.find ?? ""}
          onInput={(event) => maps.narrowTargets({ find: event.currentTarget.value })}
        />
        <Choice
          label="Fold by"
          value={query.fold ?? "none"}
          options={FOLDS}
          choose={(fold) => maps.narrowTargets({ fold: fold as Query["fold"] & string, open: [] })}
        />
        <span class="space" />
        <Button text="Copy list" onClick={() => void list("text")} />
        <Button text="Save as CSV" onClick={() => void list("csv")} />
      </div>
      <Narrowed session={session} />
      <p class="caption">
        {found !== null &&
          (isNarrowed && total !== null ? `${count(found)} of ${counted(total, "file")}` : counted(found, "file"))}
        {said !== null && (
          <>
            {" "}
            · <span role="status">{said}</span>
          </>
        )}
      </p>
      {failed !== null && <Failure sentence={failed} />}
    </div>
  );
}

/** Whose targets are listed: those of an array, or of a part of it, and of a period. */
function Narrowed({ session }: { session: ExplorerSession }) {
  const { maps, preview } = session;
  const { query } = useStore(maps);
  const { plan } = useStore(preview);
  const { item } = useStore(session);
  const { array, slices, since, until } = query;
  const ofItem = item?.array?.path;
  const offered =
    plan !== null && plan.slices.length > 0 && (array !== plan.array || slices?.join() !== plan.slices.join());
  return (
    <div class="controls">
      {array === undefined && ofItem !== undefined && (
        <Button
          text={`Only files of ${ofItem || "/"}`}
          title={ofItem}
          onClick={() => maps.narrowTargets({ array: ofItem })}
        />
      )}
      {offered && (
        <Button
          text={`Only files that ${plan.array || "/"}[${plan.slices.join(", ")}] needs`}
          title={`The selection of ${plan.array || "/"} that is shown under Values`}
          onClick={() => maps.narrowTargets({ array: plan.array, slices: [...plan.slices] })}
        />
      )}
      {array != null && (
        <>
          <span>
            Files of <b>{array || "/"}</b>
          </span>
          <Part key={array} slices={slices ?? null} choose={(part) => maps.narrowTargets({ slices: part })} />
          <Button text="Show all files" onClick={() => maps.narrowTargets({ array: null, slices: null })} />
        </>
      )}
      {since != null && until != null && (
        <>
          <span>
            from <b>{moment(since)}</b> until <b>{moment(until)}</b>
          </span>
          <Button text="Show all dates" onClick={() => maps.narrowTargets({ since: null, until: null })} />
        </>
      )}
    </div>
  );
}

/** Which part of the array has to be read, one index or slice for each dimension. */
function Part({ slices, choose }: { slices: string[] | null; choose(slices: string[] | null): void }) {
  const text = slices?.join(", ") ?? "";
  const [draft, setDraft] = useState(text);
  useEffect(() => setDraft(text), [text]);
  const tell = () => choose(draft.trim() === "" ? null : draft.split(",").map((part) => part.trim()));
  return (
    <label class="choice">
      <span>part</span>
      <input
        type="text"
        class="slice-text"
        placeholder="all, or 0:10, :, 5"
        title="An index or a slice for each dimension, with commas between them: only the files that reading it needs are listed"
        spellcheck={false}
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={tell}
      />
    </label>
  );
}

/** Lets the browser save a text as a file. */
function save(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
