/** The panels next to the text: the specification, a shorter text, other readers, other values. */

import { useEffect, useId, useRef, useState } from "preact/hooks";

import { DataTable, Select, Sentences } from "../shared/controls.tsx";
import { capital, count, counted } from "../shared/format.ts";
import { saveText } from "./toolbar.tsx";
import { Blank, Button, Sentence } from "../shared/parts.tsx";
import { useAnswer, useStore } from "../shared/store.ts";
import type {
  Axis,
  Derivation,
  Generator,
  ReaderVerdict,
  RuleFollowed,
  Shorter,
  TaughtRule,
  TemplateField,
} from "../shared/wire.ts";
import type { Shortening, Specification } from "./panels.ts";
import { measured } from "../shared/waiting.ts";
import type { EditorSession } from "./session.ts";

interface Props {
  specification: Specification;
  /** Puts an example into the editor; null where the text is not to be replaced. */
  write: ((text: string) => void) | null;
  /** Opens an exercise. */
  train(name: string): void;
}

export function SpecificationRules({ specification, write, train }: Props) {
  const { rules, lit, chosen, followed, trouble } = useStore(specification);
  const pane = useRef<HTMLElement>(null);
  const reveal = (name: string | undefined | null) =>
    name && pane.current?.querySelector(`[data-rule="${name}"]`)?.scrollIntoView({ block: "nearest" });
  useEffect(() => void reveal(lit[0]), [lit[0]]);
  useEffect(() => void reveal(chosen), [chosen, rules]);
  const sections = [...new Set(rules?.map((rule) => rule.section))];
  return (
    <section class="rules" aria-label="Rules of the specification" ref={pane}>
      <Button text="✕" class="button close" aria-label="Close" onClick={() => specification.close()} />
      {rules === null && <Blank sentence={trouble ?? "Loading the rules …"} />}
      {sections.map((section) => {
        const own = rules!.filter((rule) => rule.section === section);
        return (
          <div role="group" aria-label={section} key={section}>
            <p class="rules-head">
              <b>{section}</b>{" "}
              <a href={own[0]!.link} target="_blank" rel="noreferrer">
                In the specification
              </a>
            </p>
            <ul>
              {own.map((rule) => (
                <li key={rule.name} data-rule={rule.name} class={lit.includes(rule.name) ? "rule lit" : "rule"}>
                  <Button
                    class="rule-said"
                    aria-expanded={rule.name === chosen}
                    onClick={() => specification.choose(rule.name === chosen ? null : rule.name)}
                  >
                    <Sentence text={rule.sentence} />
                    {lit.includes(rule.name) && <span class="unseen"> (at the cursor)</span>}
                  </Button>
                  {rule.name === chosen && (
                    <Chosen rule={rule} followed={followed} trouble={trouble} write={write} train={train} />
                  )}
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </section>
  );
}

interface ChosenProps extends Pick<Props, "write" | "train"> {
  rule: TaughtRule;
  followed: RuleFollowed | null;
  trouble: string | null;
}

function Chosen({ rule: { name, example, exercises }, followed, trouble, write, train }: ChosenProps) {
  return (
    <div class="rule-more">
      <p class={trouble === null ? "quiet" : "bad"} role="status">
        {trouble ?? (followed && places(followed, example))}
      </p>
      {example !== null && (
        <pre role="group" aria-label={`Example of ${name}`}>
          {example}
        </pre>
      )}
      <p class="rule-ways">
        {write && example !== null && <Button text="Insert into the editor" onClick={() => write(example)} />}
        {exercises.map((one) => (
          <Button text={one.title} key={one.name} onClick={() => train(one.name)} />
        ))}
      </p>
    </div>
  );
}

function places({ places: { length }, is_all: isAll }: RuleFollowed, example: string | null): string {
  if (example === null) return "It applies to parquet stores only.";
  if (length === 0) return isAll ? "Not used in this text." : "Not used in the part of the text that is shown.";
  const said = length === 1 ? "Used in 1 place in the text" : `Used in ${count(length)} places in the text`;
  return `${isAll ? "" : "At least "}${said}.`;
}

export function ShorterPanel({ shortening }: { shortening: Shortening }) {
  const { taken, trouble } = useStore(shortening);
  const { id, progress, answer, error } = useStore(shortening.finding);
  const shorter = answer?.shorter ?? null;
  const failure = trouble ?? error;
  useEffect(() => {
    void shortening.find();
    return () => shortening.finding.stop();
  }, [shortening]);
  return (
    <section class="derivation shorter" aria-label="A shorter V1">
      {id !== null && (
        <p class="shorter-line" role="status">
          <progress {...measured(progress)} aria-label="Searching" />
          <span>{progress?.label ?? "Looking for templates and regular sequences …"}</span>
          <Button text="Cancel" onClick={() => shortening.finding.stop()} />
        </p>
      )}
      {failure !== null && <Blank sentence={failure} retry={() => void shortening.find()} />}
      {shorter !== null && <Found shorter={shorter} />}
      {shorter?.found && (
        <p class="shorter-line">
          {taken ? (
            <>
              <Button text="Restore the old text" onClick={() => shortening.put(false)} />
              <span role="status">Replaced by a shorter text with the same references.</span>
            </>
          ) : (
            <>
              <Button text="Replace the text" main onClick={() => shortening.put(true)} />
              <Button text="Replace and save" onClick={() => shortening.put(true).then(saveText)} />
            </>
          )}
        </p>
      )}
    </section>
  );
}

function Found({ shorter: { found, sizes, parts, rows, explicit, explicit_count: total } }: { shorter: Shorter }) {
  const more = Number(total) - explicit.length;
  return (
    <>
      <p role="status">
        <b>{capital(sizes)}</b> {parts}
      </p>
      {rows.length > 0 && (
        <DataTable
          class="shorter-rows"
          rows={rows}
          of={([part, key]) => `${part} ${key}`}
          columns={["Part", "Key or name", "URL"].map((head, i) => ({
            head,
            cell: (row: readonly string[]) => row[i],
          }))}
        />
      )}
      {found && explicit.length > 0 && (
        <details>
          <summary>
            {counted(total, "key")} stay{Number(total) === 1 ? "s" : ""} explicit
          </summary>
          <ul class="shorter-keys">
            {explicit.map((key) => (
              <li key={key}>
                <code>{key}</code>
              </li>
            ))}
            {more > 0 && <li class="quiet">and {count(more)} more</li>}
          </ul>
        </details>
      )}
    </>
  );
}

const MARKS: Record<ReaderVerdict["outcome"], string> = {
  same: "✓",
  dropped: "▲",
  different: "▲",
  refused: "✕",
  "not run": "?",
};
const CLASSES: Record<ReaderVerdict["outcome"], string> = {
  same: "",
  dropped: "warning",
  different: "warning",
  refused: "error",
  "not run": "",
};

export function Readers({ session }: { session: EditorSession }) {
  const { reply, reader: chosen } = useStore(session);
  const { active } = useStore(session.tracing);
  const { answer: readers, error } = useAnswer(`${reply?.version}`, () => session.readers());
  useEffect(() => {
    if (session.state.reader === "" && readers?.[1]) session.readAs(readers[1].name);
  }, [readers]);
  const shown = readers?.find((reader) => reader.name === chosen) ?? readers?.[0];
  const row = session.rows.at(active);
  return (
    <section class="derivation readers" aria-label="Other readers">
      {error !== null && <Blank sentence={error} />}
      {readers === null && error === null && <p class="quiet">Checking other readers …</p>}
      <p class="chips">
        {readers?.map((reader) => (
          <Button
            key={reader.name}
            class={`chip ${CLASSES[reader.outcome]}${reader === shown ? " on" : ""}`}
            aria-pressed={reader === shown}
            onClick={() => session.readAs(reader.name)}
          >
            {reader.name} <span aria-hidden="true">{MARKS[reader.outcome]}</span>
            <span class="unseen">{reader.outcome}</span>
          </Button>
        ))}
      </p>
      {shown && <Verdict reader={shown} />}
      {shown && row?.why != null && (
        <p role="status">
          <code>{row.key}</code>: <Sentence text={row.why} />
        </p>
      )}
    </section>
  );
}

function Verdict({ reader: { name, summary, reasons, examples } }: { reader: ReaderVerdict }) {
  return (
    <>
      <p>
        <b>{name}</b>: {summary}
      </p>
      <Sentences of={[...reasons, ...examples.map((example) => `\`${example}\``)]} />
    </>
  );
}

export function Trying({ session }: { session: EditorSession }) {
  const { reply } = useStore(session);
  const { derivation } = useStore(session.tracing);
  if (reply === null) return null;
  const { templates, generators } = reply;
  return (
    <section class="derivation trying" aria-label="Try it">
      {templates.length === 0 && generators.length === 0 && (
        <p class="quiet">There are no templates and no dimensions to try.</p>
      )}
      {templates.length > 0 && <Templates fields={templates} tried={(given) => void session.tried.ask(given)} />}
      {generators.length > 0 && (
        <Dimensions
          generators={generators}
          derivation={derivation}
          go={(gen, places) => void session.placed.ask({ gen, places })}
        />
      )}
    </section>
  );
}

/** Fields that stand for the `template_overrides` of fsspec; the text stays as it is. */
function Templates({ fields, tried }: { fields: TemplateField[]; tried(given: Record<string, string>): void }) {
  const id = useId();
  const kept = fields.filter((field) => field.given !== null).map((field) => [field.name, field.given!]);
  const given = Object.fromEntries(kept) as Record<string, string>;
  const without = (name: string) => Object.fromEntries(Object.entries(given).filter(([other]) => other !== name));
  return (
    <div class="fields" role="group" aria-label="Templates, tried without changing the text">
      {fields.map(({ name, written, given: text }) => (
        <div class="try-line" key={name}>
          <label class="mono" for={`${id}-${name}`}>
            {name}
          </label>
          <input
            id={`${id}-${name}`}
            class="field mono"
            spellcheck={false}
            autocomplete="off"
            value={text ?? written}
            onInput={(event) => tried({ ...given, [name]: event.currentTarget.value })}
          />
          <Button text="As written" disabled={text === null} onClick={() => tried(without(name))} />
        </div>
      ))}
    </div>
  );
}

interface DimensionsProps {
  generators: Generator[];
  derivation: Derivation | null;
  go(gen: number, places: Record<string, number>): void;
}

/** A slider for each dimension of a gen item; they follow the chosen row. */
function Dimensions({ generators, derivation, go }: DimensionsProps) {
  const id = useId();
  const [chosen, choose] = useState<number | null>(null);
  const ofRow = generators.find((one) => derivation?.origin === `gen[${one.number}]`);
  const shown = generators.find((one) => one.number === chosen) ?? ofRow ?? generators[0]!;
  const places: Record<string, number> = Object.fromEntries(shown.axes.map(({ name }) => [name, 0]));
  if (ofRow === shown) for (const [name, place] of derivation!.places) places[name] = Number(place);
  return (
    <div class="fields" role="group" aria-label={`Dimensions of gen[${shown.number}]`}>
      {generators.length > 1 && (
        <Select
          class="field"
          aria-label="Gen item"
          value={String(shown.number)}
          options={generators.map(({ number }) => [String(number), `gen[${number}]`])}
          choose={(number) => choose(Number(number))}
        />
      )}
      {shown.axes.map((axis) => (
        <div class="try-line" key={axis.name}>
          <label class="mono" for={`${id}-${axis.name}`}>
            {axis.name}
          </label>
          <input
            id={`${id}-${axis.name}`}
            type="range"
            min={0}
            max={Number(axis.size) - 1}
            value={places[axis.name]!}
            aria-valuetext={valueAt(axis, places[axis.name]!)}
            onInput={(event) => go(shown.number, { ...places, [axis.name]: Number(event.currentTarget.value) })}
          />
          <output class="mono">{valueAt(axis, places[axis.name]!)}</output>
        </div>
      ))}
    </div>
  );
}

function valueAt({ start, step, listed }: Axis, place: number): string {
  if (listed !== null) return place < listed.length ? count(listed[place]!) : `value ${count(place)}`;
  return count(Number(start) + place * Number(step));
}
