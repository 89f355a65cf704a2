/** Where a person is, as the query of an address, and the step through the browser's history that led there. */
export interface Place {
  address: string;
  step: number;
}
