/** A shorter V1 for the text: what it would save and what stays explicit, before it is taken. */

import { useEffect } from "preact/hooks";

import { count, counted } from "../../shared/format.ts";
import { Blank, Button } from "../../shared/parts.tsx";
import { useStore } from "../../shared/store.ts";
import { measured } from "../../shared/waiting.ts";
import type { Shorter } from "../../shared/wire.ts";
import { saveText } from "../toolbar.tsx";
import type { Shortening } from "./shortening.ts";

export function ShorterPanel({ shortening }: { shortening: Shortening }) {
  const { job, progress, shorter, taken, trouble } = useStore(shortening);
  useEffect(() => {
    void shortening.find();
    return () => shortening.cancel();
  }, [shortening]);
  return (
    <section class="derivation shorter" aria-label="A shorter V1">
      {job !== null && (
        <p class="shorter-line" role="status">
          <progress {...measured(progress)} aria-label="Searching" />
          <span>{progress?.label ?? "Looking for templates and regular sequences …"}</span>
          <Button text="Cancel" onClick={() => shortening.cancel()} />
        </p>
      )}
      {trouble !== null && <Blank sentence={trouble} retry={() => void shortening.find()} />}
      {shorter !== null && <Found shorter={shorter} />}
      {shorter?.found && (
        <p class="shorter-line">
          {taken ? (
            <>
              <Button text="Restore the old text" onClick={() => shortening.put(false)} />
              <span role="status">Replaced by a shorter text with the same references.</span>
            </>
          ) : (
            <>
              <Button text="Replace the text" class="button main-button" onClick={() => shortening.put(true)} />
              <Button text="Replace and save" onClick={() => shortening.put(true).then(saveText)} />
            </>
          )}
        </p>
      )}
    </section>
  );
}

function Found({ shorter: { found, sizes, parts, rows, explicit, explicit_count: total } }: { shorter: Shorter }) {
  const more = Number(total) - explicit.length;
  return (
    <>
      <p role="status">
        <b>{capital(sizes)}</b> {parts}
      </p>
      {rows.length > 0 && (
        <table class="shorter-rows">
          <thead>
            <tr>
              <th>Part</th>
              <th>Key or name</th>
              <th>URL</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([part, key, url]) => (
              <tr key={`${part} ${key}`}>
                <td>{part}</td>
                <td>{key}</td>
                <td>{url}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {found && explicit.length > 0 && (
        <details>
          <summary>
            {counted(total, "key")} stay{Number(total) === 1 ? "s" : ""} explicit
          </summary>
          <ul class="shorter-keys">
            {explicit.map((key) => (
              <li key={key}>
                <code>{key}</code>
              </li>
            ))}
            {more > 0 && <li class="quiet">and {count(more)} more</li>}
          </ul>
        </details>
      )}
    </>
  );
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
