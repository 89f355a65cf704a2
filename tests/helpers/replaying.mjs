// Answers as saved pages do. A line of stdin is JSON: what a page has, packed, and the messages that it is asked.
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";

const place = process.argv[2];
const { unpack } = await import(`${place}/content.ts`);
const { EditorReplay } = await import(`${place}/editor.ts`);
const { ExerciseReplay } = await import(`${place}/exercise.ts`);
const { Replay } = await import(`${place}/replay.ts`);
const REPLAYS = {
  explorer: (unpacked) => new Replay(unpacked),
  editor: ({ content }) => new EditorReplay(content),
  exercise: ({ content }) => new ExerciseReplay(content),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { kind, packed, asked } = JSON.parse(line);
  const bytes = gunzipSync(Buffer.from(packed, "base64"));
  const replay = REPLAYS[kind](unpack(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)));
  const answers = asked.map((message) => {
    const answer = replay.answer(message);
    if (kind !== "explorer") return { message: answer, buffers: [] };
    return { ...answer, buffers: answer.buffers.map((buffer) => Buffer.from(buffer).toString("base64")) };
  });
  process.stdout.write(`${JSON.stringify(answers)}\n`);
}
