/** What can be tried without editing: other templates, and a place in the dimensions. */

import { useId, useState } from "preact/hooks";

import { Button } from "../shared/parts.tsx";
import { count } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { Axis, Derivation, Generator, TemplateField } from "../shared/wire.ts";
import type { EditorSession } from "./session.ts";

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
      {templates.length > 0 && <Templates fields={templates} tried={(given) => session.tryTemplates(given)} />}
      {generators.length > 0 && (
        <Dimensions
          generators={generators}
          derivation={derivation}
          go={(gen, places) => session.goToPlace(gen, places)}
        />
      )}
    </section>
  );
}

interface TemplatesProps {
  fields: TemplateField[];
  tried(given: Record<string, string>): void;
}

/** Fields that stand for the `template_overrides` of fsspec; the text stays as it is. */
function Templates({ fields, tried }: TemplatesProps) {
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
        <select
          class="field"
          aria-label="Gen item"
          value={shown.number}
          onChange={(event) => choose(Number(event.currentTarget.value))}
        >
          {generators.map(({ number }) => (
            <option key={number} value={number}>
              gen[{number}]
            </option>
          ))}
        </select>
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
