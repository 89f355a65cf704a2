/** Something that is read from a target: the wait, the question of access, the failure. */

import type { ComponentChildren } from "preact";

import { middled } from "./format.ts";
import { Button, Sentence } from "./parts.tsx";
import { useStore } from "./store.ts";
import type { JobProgress } from "./wire.ts";
import { measured, type Asked, type Waiting } from "./waiting.ts";

/** What an answer says of the access that it needs. */
interface Answer {
  state: string;
  message: string | null;
  grant: string | null;
}

interface Props<T extends Answer> {
  asked: Asked<T>;
  allow(grant: string): void;
  cancel(): void;
  children(answer: T): ComponentChildren;
}

export function Outcome<T extends Answer>({
  asked: { id, answer, error, progress },
  allow,
  cancel,
  children,
}: Props<T>) {
  const isAsking = answer?.state === "ask" && answer.grant !== null;
  return (
    <>
      {answer !== null && !isAsking && children(answer)}
      {id !== null && <Working progress={progress} cancel={cancel} />}
      {id === null && error !== null && <Failure sentence={error} />}
      {id === null && isAsking && <Question sentence={answer.message} grant={answer.grant!} allow={allow} />}
    </>
  );
}

interface AllowProps {
  grant: string;
  allow(grant: string): void;
  then?: string;
  busy?: boolean;
}

export function Question({ sentence, grant, allow }: AllowProps & { sentence: string | null }) {
  return (
    <div class="ask" role="group" aria-label="Access">
      <p>
        <Sentence text={sentence ?? "Access to these bytes has not been allowed yet."} />
      </p>
      <Allow grant={grant} allow={allow} />
    </div>
  );
}

/** Lets a place be read, and may do more; of a long one the title has the middle. */
export function Allow({ grant, allow, then = "", busy = false }: AllowProps) {
  const whole = `Allow ${grant}${then}`;
  const said = { "aria-label": whole, title: whole, disabled: busy, onClick: () => allow(grant) };
  return <Button text={`Allow ${middled(grant)}${then}`} class="button main-button" {...said} />;
}

export function Working({ progress, cancel }: { progress: JobProgress | null; cancel(): void }) {
  return (
    <div class="working" role="status">
      <progress {...measured(progress)} aria-label="Reading" />
      <span>{progress?.label ?? "Reading …"}</span>
      <Button text="Cancel" onClick={cancel} />
    </div>
  );
}

/** How far something is that is waited for; nothing while there is no such thing, or only for a moment. */
export function Waited({ waiting }: { waiting: Waiting }) {
  const { progress } = useStore(waiting);
  return progress && <Working progress={progress} cancel={() => waiting.cancel()} />;
}

export function Failure({ sentence }: { sentence: string }) {
  return (
    <p class="failed" role="alert">
      <span aria-hidden="true">✕</span> <Sentence text={sentence} />
    </p>
  );
}
