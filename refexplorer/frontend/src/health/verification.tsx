/** Whether the set says what its files say: the button, and each finding as a link to what it names. */

import { useEffect } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { targetName } from "../maps/cells.ts";
import { Allow, Failure, Working } from "../shared/access.tsx";
import { Sentences } from "../shared/controls.tsx";
import { capital, count } from "../shared/format.ts";
import { Button, Sentence, SeverityMark } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { SetVerified, VerifiedFinding } from "../shared/wire.ts";

export function Verified({ session }: { session: ExplorerSession }) {
  const { verifying } = session;
  const { id, answer: found, error } = useStore(verifying);
  const { hello } = useStore(session);
  const { files } = useStore(session.maps);
  useEffect(() => session.run(session.lastVerified()), [session, hello?.title]);
  if (files === null || Number(files.total) === 0) return null;
  return (
    <section class="verified">
      <h3>Comparison with the files</h3>
      {found !== null && <Found found={found} session={session} />}
      <VerifyControls session={session} />
      {id === null && error !== null && <Failure sentence={error} />}
      {found === null && id === null && (
        <p class="prose quiet">
          Reads the metadata of each file and compares byte ranges, data types, packing, units and coordinates.
        </p>
      )}
    </section>
  );
}

/** The button that compares, its cost, and the progress. */
export function VerifyControls({ session }: { session: ExplorerSession }) {
  const { verifying } = session;
  const { id, progress, answer: found } = useStore(verifying);
  const { withValues } = useStore(session);
  return id !== null ? (
    <Working progress={progress} cancel={() => verifying.stop()} />
  ) : (
    <div class="offer">
      <Button
        text={found === null ? "Compare with the files" : "Compare again"}
        onClick={() => void session.verify()}
      />
      <label>
        <input
          type="checkbox"
          checked={withValues}
          onChange={(event) => session.set({ withValues: event.currentTarget.checked })}
        />{" "}
        and values of ten chunks of each array
      </label>
      {found?.grants.map((grant) => (
        <Allow grant={grant} key={grant} allow={() => void session.verify(grant)} />
      ))}
    </div>
  );
}

function Found({ found, session }: { found: SetVerified; session: ExplorerSession }) {
  const more = Number(found.finding_count) - found.findings.length;
  return (
    <>
      <p class="prose" role="status">
        <b class={found.good ? "" : "bad"}>
          {found.good ? "✓" : "≠"} {capital(found.verdict)}.
        </b>
      </p>
      {found.findings.length > 0 && (
        <ul class="notes" aria-label="What differs from the files">
          {found.findings.map((each) => (
            <Finding key={each.message} found={each} session={session} />
          ))}
          {more > 0 && <li class="quiet">and {count(more)} more</li>}
        </ul>
      )}
      {remedy(found) !== null && (
        <p class="prose">
          <Sentence text={remedy(found)!} />
        </p>
      )}
      {found.findings.length > 0 && <Button text="Repair …" onClick={() => session.repair()} />}
      <Sentences class="prose quiet" of={found.summary} />
    </>
  );
}

/** What to do where files are missing rather than different; null elsewhere. */
function remedy({ good, findings, grants }: SetVerified): string | null {
  if (good || grants.length > 0 || findings.length > 0) return null;
  return "If files were moved, run `refexplorer repair SET --rename OLD=NEW`.";
}

/** A finding with the array, the key and the files that it names, each a link. */
function Finding({ found, session }: { found: VerifiedFinding; session: ExplorerSession }) {
  const { array, key, files, file_count: total, severity, message } = found;
  const more = Number(total) - files.length;
  return (
    <li>
      <span class="note">
        <SeverityMark severity={severity} />
        <span class="note-text">
          <Sentence text={message} />
        </span>
      </span>
      <span class="leads">
        <Button text={array || "/"} link title="Show the array" onClick={() => session.run(session.reveal(array))} />
        {key !== null && key !== array && (
          <Button text={key} link title="Show the key" onClick={() => session.run(session.reveal(key))} />
        )}
        {files.map((url) => (
          <Button text={targetName(url)} link key={url} title={url} onClick={() => session.showTarget(url)} />
        ))}
        {more > 0 && <span class="quiet">and {count(more)} more</span>}
      </span>
    </li>
  );
}
