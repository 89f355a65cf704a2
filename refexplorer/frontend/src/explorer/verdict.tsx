/** What the set is, and what is wrong with it, in two lines above all else; each number is a link. */

import { capital, clock, count, counted, countedNotes, extent } from "../shared/format.ts";
import type { Host } from "../shared/host.ts";
import { RepairOffer, useFiles, VerifyControls } from "../health/verification.tsx";
import { TargetCheck } from "../maps/targettable.tsx";
import { Working } from "../shared/access.tsx";
import { Menu } from "../shared/menu.tsx";
import { Button, SeverityMark, Title } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { HealthCounts, Hello, SetFacts, Severity, TargetsSummary } from "../shared/wire.ts";
import type { ExplorerSession } from "./session.ts";
import { START } from "./state.ts";

const SEVERITIES: Severity[] = ["error", "warning", "info"];
const FORMS: Record<string, string> = {
  V0: "version 0",
  V1: "version 1",
  parquet: "parquet",
  "data file": "references made from the file",
  STAC: "references in a STAC item",
};

export function Verdict({ host, hello, session }: { host: Host; hello: Hello; session: ExplorerSession }) {
  const { facts, severities } = hello;
  useFiles(session);
  const size = extent(facts);
  return (
    <section class="top" aria-label="Verdict">
      <p class="verdict-set">
        <Title host={host} text={hello.title} />
        <span class="quiet set-form">({formOf(hello.form, facts)})</span>
        <Fact
          text={`${facts.is_bound ? "at most " : ""}${counted(facts.keys, "key")}`}
          go={() => session.run(session.find(START.search))}
        />
        <Fact text={counted(facts.arrays, "array")} go={() => session.run(session.select(""))} />
        {facts.targets === null ? (
          <span class="fact">counting …</span>
        ) : (
          <>
            <Fact text={counted(facts.targets, "file")} go={() => session.showTargets(null)} />
            {size === null ? <span class="fact">size not known</span> : <Fact text={size.replace(" ", "\u00a0")} />}
          </>
        )}
      </p>
      <p class="verdict-line" role="status" aria-label="Verdict">
        <Said hello={hello} session={session} />
      </p>
      <div class="verdict-more">
        {SEVERITIES.filter((severity) => Number(severities?.[severity] ?? 0) > 0).map((severity) => (
          <Button
            key={severity}
            class={`chip ${severity}`}
            aria-label={countedNotes(severity, Number(severities![severity]))}
            onClick={() => session.showNotes(null, severity)}
          >
            <SeverityMark severity={severity} /> {count(severities![severity])}
          </Button>
        ))}
        <Differing session={session} />
        <Checks session={session} />
        <Button text="Details" class="button open-details" onClick={() => session.showDetails()} />
        <Button text="Compare with …" onClick={() => session.show("compare")} />
      </div>
    </section>
  );
}

/** How many differences from the files were found, next to what is odd about the set itself. */
function Differing({ session }: { session: ExplorerSession }) {
  const { answer: found } = useStore(session.verifying);
  // What the set itself is known to have wrong is counted by its severity.
  const notes = new Set(session.state.hello?.notes?.map(({ message }) => message));
  const again = found?.findings.filter(({ message }) => notes.has(message)).length ?? 0;
  const number = Number(found?.finding_count ?? 0) - again;
  if (number === 0) return null;
  return (
    <Button
      class="chip error"
      aria-label={`${counted(number, "difference")} from the files`}
      onClick={() => session.showDetails(true)}
    >
      ≠ {count(number)}
    </Button>
  );
}

/** What can be checked beyond the set itself: what it reads and from where, before it does. */
function Checks({ session }: { session: ExplorerSession }) {
  const { files } = useStore(session.maps);
  const { id, progress } = useStore(session.verifying);
  const checking = useStore(session.maps.checking);
  if (files === null || Number(files.total) === 0) return null;
  if (id !== null) return <Working progress={progress} cancel={() => session.verifying.stop()} />;
  if (checking.id !== null) return <Working progress={checking.progress} cancel={() => session.maps.checking.stop()} />;
  return (
    <Menu label="Check everything">
      <ol class="checks">
        <li>
          <b>The set itself</b> was checked when it was opened:{" "}
          {counted(session.state.hello!.note_count ?? 0, "finding")}.
        </li>
        <li>
          <b>Its files:</b> do they exist, and do they contain the byte ranges? One request for each of{" "}
          {counted(files.total, "file")}
          {files.places.length > 0 && ` (${placesText(files)})`}.
          <TargetCheck maps={session.maps} />
        </li>
        <li>
          <b>Their metadata:</b> reads the metadata of each file and compares byte ranges, data types, packing, units
          and coordinates.
          <VerifyControls session={session} />
        </li>
      </ol>
    </Menu>
  );
}

function placesText({ places, place_count: all }: TargetsSummary): string {
  const named = places.map(({ place }) => (place === "" ? "local paths" : place));
  const more = Number(all) - places.length;
  return [...named, more > 0 ? counted(more, "more place") : ""].filter(Boolean).join(", ");
}

/** What is wrong, by what was looked at until now: never more than that. */
function Said({ hello, session }: { hello: Hello; session: ExplorerSession }) {
  const { answer: found } = useStore(session.verifying);
  const { page } = useStore(session.health);
  const { files: seen } = useStore(session.maps);
  const { answer: checked } = useStore(session.maps.checking);
  const lost = Number(seen?.lost_count ?? 0);
  const errors = Number(hello.severities?.error ?? 0);
  const warnings = Number(hello.severities?.warning ?? 0);
  const files = hello.facts.targets === null || Number(hello.facts.targets) > 0;
  const wrong = [...(page === null ? [] : troubles(page.sums)), ...(lost > 0 ? [ofFiles(lost)] : [])];
  if (hello.notes === null) return <span class="quiet">Checking the references …</span>;
  if (found !== null && !found.good)
    return (
      <Line
        mark="✕"
        tone="bad"
        text={`${capital(found.verdict)}${checked !== null && lost > 0 ? `; ${ofFiles(lost)}` : ""}.`}
        at={Number(found.at)}
        session={session}
        show={() => session.showDifference()}
        isRepairable
      />
    );
  if (errors > 0 || wrong.length > 0) {
    const list = [errors > 0 ? counted(errors, "error") : "", wrong.join(", ")].filter(Boolean).join(": ");
    const isOurs = errors > 0 || wrong.length > 1 || lost === 0; // a repair restores no file
    // No key is known to be wrong where only files are: the details name them.
    const show = () => (isOurs ? session.showFault() : session.showDetails(true));
    return (
      <Line
        mark="✕"
        tone="bad"
        text={`${capital(list)}.`}
        session={session}
        show={show}
        isRepairable={files && isOurs}
      />
    );
  }
  if (found !== null) return <Line mark="✓" tone="good" text={`${capital(found.verdict)}.`} at={Number(found.at)} />;
  if (warnings > 0) {
    const text = `${counted(warnings, "warning")}${files ? "; the files were not compared" : ""}.`;
    return <Line mark="▲" tone="warn" text={text} session={session} />;
  }
  return (
    <Line mark="○" tone="quiet" text={`No errors in the set itself${files ? "; its files were not compared" : ""}.`} />
  );
}

function ofFiles(lost: number): string {
  return `${counted(lost, "file")} with problems`;
}

/** The states of chunks that are surely wrong, counted. */
function troubles({ rejected, failed, differing }: HealthCounts): string[] {
  const list: [HealthCounts["failed"], string][] = [
    [rejected, "rejected"],
    [failed, "could not be read"],
    [differing, "differ from their file"],
  ];
  return list.filter(([n]) => Number(n ?? 0) > 0).map(([n, text]) => `${counted(n!, "chunk")} ${text}`);
}

interface LineProps {
  mark: string;
  tone: string;
  text: string;
  /** When that was found, in milliseconds since 1970. */
  at?: number;
  session?: ExplorerSession;
  show?: () => Promise<void> | void;
  isRepairable?: boolean;
}

/** The sentence; where something is wrong, the way to it. */
function Line({ mark, tone, text, at, session, show = () => session!.showFault(), isRepairable = false }: LineProps) {
  return (
    <>
      <span class={`verdict-mark ${tone}`} aria-hidden="true">
        {mark}
      </span>{" "}
      <b>{text}</b> {at !== undefined && <span class="quiet">Compared {clock(at)}.</span>}{" "}
      {session && <Button text="Show" onClick={() => session.run(Promise.resolve(show()))} />}{" "}
      {session && isRepairable && <RepairOffer session={session} />}
    </>
  );
}

/** The form of the set, with what of version 1 it has. */
function formOf(form: string, { templates, generated }: SetFacts): string {
  const parts = [
    FORMS[form] ?? form,
    Number(templates) > 0 ? counted(templates, "template") : "",
    Number(generated) > 0 ? counted(generated, "generated key") : "",
  ];
  return parts.filter(Boolean).join(", ");
}

/** "4,212 keys", the number standing out. */
function Fact({ text, go }: { text: string; go?: () => void }) {
  const [number, ...rest] = text.split(" ");
  const body = (
    <>
      <b>{number}</b> {rest.join(" ")}
    </>
  );
  return go ? <Button text={body} class="fact" onClick={go} /> : <span class="fact">{body}</span>;
}
