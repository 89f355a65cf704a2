/** Something that is read from a target: the offer, the wait, the question of access, the failure. */

import type { ComponentChildren } from "preact";

import { middled } from "./format.ts";
import { Blank, Button, Sentence } from "./parts.tsx";
import { type Store, useStore } from "./store.ts";
import type { JobProgress } from "./wire.ts";
import { measured, type Asked, type Waiting } from "./waiting.ts";

/** What an answer says of the access that it needs. */
interface Answer {
  state: string;
  message: string | null;
  grant: string | null;
}

interface Props<T> {
  work: Store<Asked<T>> & { readonly isIdle: boolean; drop(): void };
  /** Starts it; files of `grant` may be read from now on. */
  start(grant?: string): void;
  /** The button that starts it, and the cost. */
  offer: string;
  note?: string | undefined;
  beside?: ComponentChildren;
  children(answer: T): ComponentChildren;
}

export function Outcome<T>({ work, start, offer, note, beside, children }: Props<T>) {
  const { id, answer, error, progress } = useStore(work);
  if (work.isIdle) {
    return (
      <Offer text={offer} note={note} act={() => start()}>
        {beside}
      </Offer>
    );
  }
  const asks = answer !== null && isQuestion(answer) ? answer : null;
  return (
    <>
      {answer !== null && asks === null && children(answer)}
      {id !== null && <Working progress={progress} cancel={() => work.drop()} />}
      {id === null && error !== null && <Failure sentence={error} />}
      {id === null && asks !== null && <Question sentence={asks.message} grant={asks.grant!} allow={start} />}
    </>
  );
}

/** Whether an answer is the question of access. */
export function isQuestion(answer: unknown): answer is Answer {
  const { state, grant } = answer as Partial<Answer>;
  return state === "ask" && grant != null;
}

interface OfferProps {
  text: string;
  note?: string | undefined;
  main?: boolean;
  act(): void;
  children?: ComponentChildren;
}

/** A button for data that are read only on request, and the cost. */
export function Offer({ text, note, main = false, act, children }: OfferProps) {
  return (
    <div class="offer">
      <Button text={text} main={main} onClick={act} />
      {note && <span class="quiet">{note}</span>}
      {children}
    </div>
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
  return <Button text={`Allow ${middled(grant)}${then}`} main {...said} />;
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

interface PendingProps {
  /** Why it did not come. */
  error: string | null;
  retry(): void;
  sentence: string;
  waiting: Waiting;
}

/** Shown in place of a response that has not arrived. */
export function Pending({ error, retry, sentence, waiting }: PendingProps) {
  if (error !== null) return <Blank sentence={error} retry={retry} />;
  return (
    <>
      <Blank sentence={sentence} />
      <Waited waiting={waiting} />
    </>
  );
}

/** A section whose contents have not come. */
export function Counting({ title, error, retry, sentence, waiting }: CountingProps) {
  return (
    <section>
      <h3>{title}</h3>
      {error === null ? <p class="quiet">{sentence}</p> : <Failure sentence={error} />}
      {error !== null && retry && <Button text="Try again" onClick={retry} />}
      <Waited waiting={waiting} />
    </section>
  );
}

type CountingProps = Omit<PendingProps, "retry"> & { title: string; retry?: () => void };

export function Failure({ sentence }: { sentence: string }) {
  return (
    <p class="failed" role="alert">
      <span aria-hidden="true">✕</span> <Sentence text={sentence} />
    </p>
  );
}
