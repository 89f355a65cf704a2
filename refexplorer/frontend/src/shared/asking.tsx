/** Something that is read from a target: the wait, the question of access, the failure. */

import type { ComponentChildren } from "preact";

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

interface QuestionProps {
  sentence: string | null;
  grant: string;
  allow(grant: string): void;
}

export function Question({ sentence, grant, allow }: QuestionProps) {
  return (
    <div class="ask" role="group" aria-label="Access">
      <p>
        <Sentence text={sentence ?? "Access to these bytes has not been allowed yet."} />
      </p>
      <Button text={`Allow ${grant}`} class="button main-button" onClick={() => allow(grant)} />
    </div>
  );
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
