/** The files of a set in a few lines: how many, where, and which of them have problems. */

import { useEffect } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { targetName } from "../maps/cells.ts";
import { STATES, TargetCheck } from "../maps/targettable.tsx";
import { Button } from "../shared/parts.tsx";
import { Counting } from "../shared/access.tsx";
import { capital, count, counted } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { TargetsSummary } from "../shared/wire.ts";

/** Sorts the references by their files, once the chunks are counted. */
export function useFiles(session: ExplorerSession): void {
  const running = useStore(session.maps.checking).id !== null;
  const { hello } = useStore(session);
  const { page, error } = useStore(session.health);
  // Sorting a large set takes longer than counting its chunks, which must not wait for it.
  const isNext = page !== null || error !== null;
  useEffect(() => {
    // which ranges overlap, and the dates in names, are known from then on
    if (isNext && !running) void session.maps.sumTargets().then(() => session.health.load());
  }, [session, hello?.title, running, isNext]);
}

export function Files({ session }: { session: ExplorerSession }) {
  const { files, filesError } = useStore(session.maps);
  if (filesError !== null || files === null) {
    const sentence = "Sorting the references by their files …";
    return <Counting title="Files" error={filesError} sentence={sentence} waiting={session.maps.summing} />;
  }
  if (Number(files.total) === 0) return null;
  const more = Number(files.lost_count) - files.lost.length;
  return (
    <section class="files">
      <h3>{counted(files.total, "file")}</h3>
      <p class="prose">
        {where(files)} <Button text="Show the table of files" link onClick={() => session.showTargets(null)} />
      </p>
      {files.lost.length > 0 && (
        <ul class="lost" aria-label="Files with problems">
          {files.lost.map(({ url, state, message }) => (
            <li key={url}>
              <span class="bad">{STATES[state]}</span>{" "}
              <Button text={targetName(url)} link onClick={() => session.showTarget(url)} />{" "}
              <span class="quiet">{message}</span>
            </li>
          ))}
          {more > 0 && <li class="quiet">and {count(more)} more</li>}
        </ul>
      )}
      <TargetCheck maps={session.maps} />
    </section>
  );
}

/** Where the targets are, and how many of them were asked. */
function where({ total, places, place_count: all, checked, lost_count: lost, unlisted }: TargetsSummary): string {
  const named = places.map(
    ({ place, targets }) =>
      `${all === 1 ? "all" : count(targets)} ${place === "" ? "with a local path" : `at ${place}`}`,
  );
  if (Number(all) > places.length) named.push(`the others at ${counted(Number(all) - places.length, "more place")}`);
  const list = named.join(", ");
  const some = Number(checked) === Number(total) ? "All were" : `${count(checked)} of ${count(total)} were`;
  const found = Number(lost) === 0 ? "no problems were found" : `${count(lost)} with problems`;
  const asked = Number(checked) === 0 ? "Not checked yet." : `${some} checked: ${found}.`;
  const unknown =
    Number(unlisted) > 0
      ? ` ${counted(unlisted, "generated key")} ${Number(unlisted) === 1 ? "was" : "were"} not evaluated and may have other files.`
      : "";
  return `${capital(list)}. ${asked}${unknown}`;
}
