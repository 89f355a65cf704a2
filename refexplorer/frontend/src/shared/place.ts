/** Where a person is, as the query of an address, and the step through the browser's history that led there. */
export interface Place {
  address: string;
  step: number;
}

/** What an address says of the explorer; `refexplorer/hosts/page/page.py` knows the same names. */
export const PLACES = [
  "view",
  "key",
  "slice",
  "part",
  "mode",
  "axes",
  "colours",
  "limits",
  "raw",
  "find",
  "kinds",
  "list",
  "only",
  "notes",
  "by",
  "map",
  "earth",
  "beside",
  "files",
  "other",
  "changes",
  "gone",
  "cost",
] as const;

export type Places = Partial<Record<(typeof PLACES)[number], string>>;
