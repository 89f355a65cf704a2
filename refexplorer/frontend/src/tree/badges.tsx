/** What is wrong with a key, or below a folder, in a few marks. */

import { count, counted, SEVERITY_MARKS } from "../shared/format.ts";
import type { Badges as Counts } from "../shared/wire.ts";

export function Badges({ badges, leaf }: { badges: Counts | null | undefined; leaf: boolean }) {
  if (!badges) return null;
  const said = words(badges);
  // Notes of severity error are mostly about what is rejected: both numbers would say the same thing twice.
  const lost = Number(badges.rejected) + Number(badges.failed) || Number(badges.errors);
  const marks = [
    { name: "error", mark: SEVERITY_MARKS.error, n: lost },
    { name: "warning", mark: SEVERITY_MARKS.warning, n: Number(badges.warnings) },
    { name: "none", mark: null, n: Number(badges.absent) },
  ].filter(({ n }) => n > 0);
  return (
    <span class="marks" title={said}>
      <span class="unseen">{said}</span>
      {marks.map(({ name, mark, n }) => (
        <span key={name} class={`severity ${name}`} aria-hidden="true">
          {mark ?? <i class="hatch small" />}{leaf ? "" : short(n)}
        </span>
      ))}
    </span>
  );
}

/** What is wrong, in words. */
function words({ rejected, failed, absent, errors, warnings }: Counts): string {
  const chunks = [[rejected, "rejected"], [failed, "failed"], [absent, "without a reference"]] as const;
  const notes = [[errors, "error"], [warnings, "warning"]] as const;
  return [
    ...chunks.filter(([n]) => Number(n) > 0).map(([n, what]) => `${counted(n, "chunk")} ${what}`),
    ...notes.filter(([n]) => Number(n) > 0).map(([n, noun]) => counted(n, noun)),
  ].join(", ");
}

/** 118 → "118", 12345 → "12k": the whole number is in the title. */
function short(n: number): string {
  if (n < 1e4) return count(n);
  const power = Math.min(4, Math.floor(Math.log10(n) / 3));
  return `${Math.floor(n / 1000 ** power)}${["", "k", "M", "G", "T"][power]}`;
}
