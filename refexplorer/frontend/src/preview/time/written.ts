/** A time as the field has it, to the minute; nothing of years that it cannot have. */
export function written(milliseconds: number): string {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999) return "";
  return date.toISOString().slice(0, 16);
}
