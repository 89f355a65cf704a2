/** The set that this one is compared with, above everything that shows what differs. */

import type { ExplorerSession } from "../explorer/session.ts";
import { Button } from "../shared/parts.tsx";
import { count, counted } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";

export function ComparisonBanner({ session }: { session: ExplorerSession }) {
  const { comparing } = session;
  const { compared } = useStore(comparing);
  const { look, item } = useStore(session);
  const sets = compared?.sets ?? null;
  if (sets === null) return null;
  const differing = sets.kinds.filter(({ name }) => name !== "same");
  const total = differing.reduce((sum, { keys }) => sum + Number(keys), 0);
  return (
    <section class="compared-with" aria-label="Comparison with another set">
      <p>
        <span aria-hidden="true">±</span>{" "}
        <b>
          {total === 0 ? "No key differs" : `${counted(total, "key")} ${total === 1 ? "differs" : "differ"}`} from{" "}
          {sets.before}
        </b>
        {total > 0 && ": "}
        {differing.map(({ mark, words, keys }) => `${mark} ${count(keys)} ${words}`).join(", ")}
      </p>
      <Button
        text="What differs"
        aria-pressed={look === "compare"}
        onClick={() => session.show(look === "compare" ? "data" : "compare")}
      />
      {item?.array != null && (
        <Button text="Both pictures" aria-pressed={look === "beside"} onClick={() => session.show("beside")} />
      )}
      <Button text="Stop comparing" onClick={() => void comparing.compare("")} />
    </section>
  );
}
