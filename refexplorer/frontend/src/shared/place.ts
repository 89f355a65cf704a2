/** Where a person is, as the query of an address, and the step through the browser's history that led there. */
export interface Place {
  address: string;
  step: number;
}

/** What an address says of the explorer itself; `refexplorer/hosts/page/page.py` knows the same names. */
export const PLACES = [
  ...["view", "key", "slice", "part", "mode", "axes", "colours", "limits", "raw", "find", "kinds", "list", "only"],
  ...["notes", "by", "other", "changes", "gone"],
] as const;

/** Texts by name; views say others. */
export type Places = Record<string, string | undefined>;
