/** The middle of the screen: what is selected, and the switch of how it is looked at. */

import { counted, shapeText } from "../shared/format.ts";
import { Toggles } from "../shared/controls.tsx";
import { Blank, Button } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { ArrayItem, Hello } from "../shared/wire.ts";
import { HealthTable } from "../health/healthtable.tsx";
import type { ExplorerSession } from "./session.ts";
import { SetView } from "./setview.tsx";
import type { PartProps, ShownProps } from "./view.ts";

export function Centre({ session, hello }: ShownProps) {
  const { look, item } = useStore(session);
  const array = item?.array ?? null;
  const root = session.looks.find(({ name }) => name === look)?.under ?? look;
  const forms = session.looks.filter(({ name, under }) => under === root || name === root);
  return (
    <section class="centre" aria-label="Picture" tabIndex={-1}>
      <header class="centre-head">
        {array === null ? <h2>{titleOfSet(hello)}</h2> : <Heading array={array} session={session} />}
        <Toggles
          class="switch"
          label="Look at"
          options={session.switched.map(({ name, label }, i) => [name, label, `${label} (${i + 1})`])}
          value={root}
          choose={(name) => session.show(name)}
        />
        {forms.length > 1 && (
          <Toggles
            class="forms"
            label={`${session.labelOf(root)} as`}
            options={forms.map(({ name, label }) => [
              name,
              name === root ? (array === null ? "Overview" : "Array") : label,
            ])}
            value={look}
            choose={(name) => session.show(name)}
          />
        )}
      </header>
      <div class="pane" key={look} role="region" aria-label={session.labelOf(look)} tabIndex={0}>
        {array === null && look === "data" ? (
          <SetView session={session} hello={hello} />
        ) : array === null && look === "chunks" && Number(hello.facts.arrays) > 0 ? (
          <HealthTable session={session} />
        ) : (
          <Look name={look} session={session} hello={hello} alone={false} />
        )}
      </div>
    </section>
  );
}

/** Another version of Python may name a look that is not here. */
export function Look({ name, ...props }: PartProps & { name: string }) {
  const Shown = props.session.viewOf(name)?.Shown;
  return Shown ? <Shown {...props} /> : <Blank sentence={`This version of refexplorer has no view \`${name}\`.`} />;
}

function titleOfSet({ facts }: Hello): string {
  return Number(facts.arrays) === 0 ? "The set" : counted(facts.arrays, "array");
}

/** The array with what it is, and the way back to the set. */
function Heading({ array, session }: { array: ArrayItem; session: ExplorerSession }) {
  const { item } = useStore(session);
  const said = (name: string) => textOf(array.attributes.find(([each]) => each === name)?.[1]);
  const what = said("long_name") ?? said("standard_name")?.replaceAll("_", " ");
  const units = said("units");
  return (
    <div class="centre-title">
      <Button
        text="The set"
        class="link up"
        title="The whole set (Esc)"
        onClick={() => session.run(session.select(""))}
      />
      <span aria-hidden="true">›</span>
      <h2>{array.path || "/"}</h2>
      {item?.chunk != null && <code class="quiet">{item.chunk.index.join(".")}</code>}
      <span class="quiet">{[what, units && !/ since /.test(units) ? `(${units})` : ""].filter(Boolean).join(" ")}</span>
      <span class="quiet shape">{shapeText(array)}</span>
    </div>
  );
}

/** The text of an attribute that is one. */
function textOf(json: string | undefined): string | null {
  if (json === undefined) return null;
  try {
    const found: unknown = JSON.parse(json);
    return typeof found === "string" && found !== "" ? found : null;
  } catch {
    return null;
  }
}
