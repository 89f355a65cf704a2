// What the front end shows of values. A line of stdin is JSON: a reading with its buffers.
import { createInterface } from "node:readline";

const place = process.argv[2];
const { grouped } = await import(`${place}/shared/format.ts`);
const { chunkOf, figures, indexOf, layout, placeOf, placesOf, slice, textsOf } = await import(`${place}/preview/slices.ts`);
const { frameOf } = await import(`${place}/preview/time/frames.ts`);
const { csvOf } = await import(`${place}/preview/saving.ts`);
const { sentences } = await import(`${place}/preview/description.ts`);
const { linesAlong, profilesOf } = await import(`${place}/preview/profiles.ts`);

/** The place of a value along each dimension, by its number in C order. */
function placesIn(shape, number) {
  return shape.map((_, axis) => {
    const below = shape.slice(axis + 1).reduce((product, size) => product * size, 1);
    return Math.floor(number / below) % shape[axis];
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const { reading, buffers } = JSON.parse(line);
  const arrays = buffers.map((text) => Uint8Array.from(Buffer.from(text, "base64")).buffer);
  const { values, integers } = frameOf(reading, arrays);
  const plan = layout(reading);
  const steps = reading.shape.map(() => 0);
  const part = slice(values, reading, plan, steps);
  const whole = integers && slice(integers, reading, plan, steps);
  const text = textsOf(reading, part, whole);
  const cells = Array.from(part, (_, i) => text(i));
  const { low, high, ...known } = figures(part, whole);
  const axes = plan.drawn;
  const answer = {
    cells,
    shown: cells.map(grouped),
    figures: { ...known, low: low < 0 ? null : text(low), high: high < 0 ? null : text(high) },
    places: axes.map((axis) => Array.from({ length: axis.size }, (_, i) => placeOf(axis, i))),
    copied: axes.length > 0 ? csvOf(reading, axes, cells) : "",
    told: axes.length > 0 ? sentences(part, axes, reading) : "",
    keys: Array.from(part, (_, i) => chunkOf(reading, indexOf(reading, placesIn(reading.shape, i))).key),
    spans: placesOf(reading, chunkOf(reading, indexOf(reading, placesIn(reading.shape, part.length - 1))).index),
    profile: axes.length === 2 ? linesAlong(1, profilesOf([], [1, 1], axes), axes, part).map((each) => Array.from(each.values, String)) : [],
  };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
