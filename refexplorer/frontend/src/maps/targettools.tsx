/** Above the table of targets: what is searched for, how it is folded, what it is narrowed to, the list of it. */

import { useEffect } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { count, counted, moment } from "../shared/format.ts";
import { Choice, DraftField, useSaid } from "../shared/controls.tsx";
import { save, toClipboard } from "../shared/browser.ts";
import { Button } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Query } from "./maps.ts";

const FOLDS: [string, string][] = [
  ["none", "none"],
  ["folder", "folder"],
  ["host", "host"],
];

export function TargetTools({ session }: { session: ExplorerSession }) {
  const { maps } = session;
  const { query, found, files } = useStore(maps);
  const [done, run] = useSaid();
  const list = async (form: "text" | "csv") => {
    const { name, text, left } = await maps.listTargets(form);
    if (form === "csv") save(name, text, "text/csv");
    const said =
      form === "csv" ? "Saved" : (await toClipboard(text)) ? "Copied" : "The browser refused to copy the list";
    return left > 0 ? `${said}; ${count(left)} more do not fit in one list` : said;
  };
  const total = files?.total ?? null;
  const isNarrowed = Object.keys(query).some((name) => !["sort", "descending", "fold", "open"].includes(name));
  useEffect(() => {
    // the overview requests it, which an address may omit
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
          label="Group by"
          value={query.fold ?? "none"}
          options={FOLDS}
          choose={(fold) => maps.narrowTargets({ fold: fold as Query["fold"] & string, open: [] })}
        />
        <span class="space" />
        <Button text="Copy list" onClick={() => void run(() => list("text"))} />
        <Button text="Save as CSV" onClick={() => void run(() => list("csv"))} />
      </div>
      <Narrowed session={session} />
      <p class="caption">
        {found !== null &&
          (isNarrowed && total !== null ? `${count(found)} of ${counted(total, "file")}` : counted(found, "file"))}
        <span role="status">{done !== null && ` · ${done}`}</span>
      </p>
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
          text={`Only files needed for ${plan.array || "/"}[${plan.slices.join(", ")}]`}
          title={`The selection of ${plan.array || "/"} that is shown under Values`}
          onClick={() => maps.narrowTargets({ array: plan.array, slices: [...plan.slices] })}
        />
      )}
      {array != null && (
        <>
          <span>
            Files of <b>{array || "/"}</b>
          </span>
          <label class="choice">
            <span>part</span>
            <DraftField
              key={array}
              class="slice-text"
              placeholder="all, or 0:10, :, 5"
              title="An index or slice for each dimension, separated by commas: only the files needed to read it are listed"
              text={slices?.join(", ") ?? ""}
              set={(text) =>
                maps.narrowTargets({ slices: text.trim() === "" ? null : text.split(",").map((part) => part.trim()) })
              }
            />
          </label>
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
