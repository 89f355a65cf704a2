/** What is wrong with a key, or below a folder, in a few marks. */

import { STATE_NAMES } from "../health/health.ts";
import { count, counted, SEVERITY_MARKS } from "../shared/format.ts";
import type { Badges as Counts, RowChanges } from "../shared/wire.ts";

export function Badges({ badges, leaf }: { badges: Counts | null | undefined; leaf: boolean }) {
  if (!badges) return null;
  const said = words(badges);
  // Notes of severity error are mostly about what is rejected: both numbers would say the same thing twice.
  const lost = Number(badges.rejected) + Number(badges.failed) + Number(badges.differing) || Number(badges.errors);
  const marks = [
    { name: "error", mark: SEVERITY_MARKS.error, n: lost },
    { name: "overlap", mark: <Overlap />, n: Number(badges.overlapping) },
    { name: "warning", mark: SEVERITY_MARKS.warning, n: Number(badges.warnings) },
    { name: "none", mark: <i class="hatch small" />, n: Number(badges.absent) },
  ].filter(({ n }) => n > 0);
  return (
    <span class="marks" title={said}>
      <span class="unseen">{said}</span>
      {marks.map(({ name, mark, n }) => (
        <span key={name} class={`severity ${name}`} aria-hidden="true">
          {mark}
          {leaf ? "" : short(n)}
        </span>
      ))}
    </span>
  );
}

/** Two squares over each other: the character for it is missing in common fonts. */
function Overlap() {
  return (
    <svg class="overlap-mark" aria-hidden="true" viewBox="0 0 10 10">
      <path d="M.5 .5h6v6h-6zM3.5 3.5h6v6h-6z" />
    </svg>
  );
}

const CHANGES = [
  ["added", "+"],
  ["removed", "−"],
  ["changed", "~"],
] as const;

/** What became of a key, or of the keys below a folder, since the other set. */
export function ChangeMarks({ changes }: { changes: RowChanges | null | undefined }) {
  if (!changes) return null;
  const found = CHANGES.filter(([name]) => Number(changes[name]) > 0);
  const said = changes.words ?? found.map(([name]) => `${counted(changes[name], "key")} ${name}`).join(", ");
  return (
    <span class="marks" title={said}>
      <span class="unseen">{said}</span>
      {found.map(([name, mark]) => (
        <span key={name} class={`change ${name}`} aria-hidden="true">
          {mark}
          {changes.words === null ? short(Number(changes[name])) : ""}
        </span>
      ))}
    </span>
  );
}

/** What is wrong, in words. */
function words({ rejected, failed, differing, overlapping, absent, errors, warnings }: Counts): string {
  const chunks = [
    [rejected, "rejected"],
    [failed, "failed"],
    [differing, STATE_NAMES.differing],
    [overlapping, STATE_NAMES.overlapping],
    [absent, "without a reference"],
  ] as const;
  const notes = [
    [errors, "error"],
    [warnings, "warning"],
  ] as const;
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
