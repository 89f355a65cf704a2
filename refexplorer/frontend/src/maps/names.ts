/** Names of a column that begin alike: what they share is said once, by an ellipsis. */

/** Between the parts of a name. */
const MARKS = "/_. -";

/** A beginning that is shorter is not cut; names that share no more at their ends do not end alike. */
const LONG = 12;

/** As many characters stay of each name: "…0" names nothing. */
const LEFT = 6;

/** What all names begin with, up to a mark between their parts; nothing worth a cut of fewer than three. */
export function common(names: string[]): string {
  if (names.length < 3) return "";
  const [first, last] = [
    names.reduce((one, two) => (two < one ? two : one)),
    names.reduce((one, two) => (two > one ? two : one)),
  ];
  const most = Math.min(...names.map((name) => name.length)) - LEFT;
  let same = 0;
  while (same < first.length && first[same] === last[same]) same += 1;
  while (same > 0 && (same > most || !MARKS.includes(first[same - 1]!))) same -= 1;
  return same >= LONG ? first.slice(0, same) : "";
}

/** Whether names end alike, so that what tells them apart stands before. */
export function isAlike(names: string[]): boolean {
  const [first, ...others] = names;
  return first !== undefined && others.length > 0 && others.every((name) => name.slice(-LONG) === first.slice(-LONG));
}

/** A name without what all of them begin with. */
export function apart(name: string, shared: string): string {
  return shared !== "" && name.startsWith(shared) ? `…${name.slice(shared.length)}` : name;
}
