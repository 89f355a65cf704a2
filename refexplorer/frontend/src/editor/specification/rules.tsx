/** The specification beside the text: its rules in order, each with an example. */

import { useEffect, useRef } from "preact/hooks";

import { count } from "../../shared/format.ts";
import { Blank, Button, Sentence } from "../../shared/parts.tsx";
import { useStore } from "../../shared/store.ts";
import type { RuleFollowed, TaughtRule } from "../../shared/wire.ts";
import type { Specification } from "./specification.ts";

interface Props {
  specification: Specification;
  /** Puts an example into the editor; null where the text is not to be replaced. */
  write: ((text: string) => void) | null;
  /** Opens an exercise. */
  train(name: string): void;
}

export function SpecificationRules({ specification, write, train }: Props) {
  const { rules, lit, chosen, followed, trouble } = useStore(specification);
  const pane = useRef<HTMLElement>(null);
  const reveal = (name: string | undefined | null) =>
    name && pane.current?.querySelector(`[data-rule="${name}"]`)?.scrollIntoView({ block: "nearest" });
  useEffect(() => void reveal(lit[0]), [lit[0]]);
  useEffect(() => void reveal(chosen), [chosen, rules]);
  const sections = [...new Set(rules?.map((rule) => rule.section))];
  return (
    <section class="rules" aria-label="Rules of the specification" ref={pane}>
      <Button text="✕" class="button close" aria-label="Close" onClick={() => specification.close()} />
      {rules === null && <Blank sentence={trouble ?? "Loading the rules …"} />}
      {sections.map((section) => {
        const own = rules!.filter((rule) => rule.section === section);
        return (
          <div role="group" aria-label={section} key={section}>
            <p class="rules-head">
              <b>{section}</b>{" "}
              <a href={own[0]!.link} target="_blank" rel="noreferrer">
                In the specification
              </a>
            </p>
            <ul>
              {own.map((rule) => (
                <li key={rule.name} data-rule={rule.name} class={lit.includes(rule.name) ? "rule lit" : "rule"}>
                  <Button
                    class="rule-said"
                    aria-expanded={rule.name === chosen}
                    onClick={() => specification.choose(rule.name === chosen ? null : rule.name)}
                  >
                    <Sentence text={rule.sentence} />
                    {lit.includes(rule.name) && <span class="unseen"> (at the cursor)</span>}
                  </Button>
                  {rule.name === chosen && (
                    <Chosen rule={rule} followed={followed} trouble={trouble} write={write} train={train} />
                  )}
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </section>
  );
}

interface ChosenProps extends Pick<Props, "write" | "train"> {
  rule: TaughtRule;
  followed: RuleFollowed | null;
  trouble: string | null;
}

function Chosen({ rule: { name, example, exercises }, followed, trouble, write, train }: ChosenProps) {
  return (
    <div class="rule-more">
      <p class={trouble === null ? "quiet" : "bad"} role="status">
        {trouble ?? (followed && places(followed, example))}
      </p>
      {example !== null && (
        <pre role="group" aria-label={`Example of ${name}`}>
          {example}
        </pre>
      )}
      <p class="rule-ways">
        {write && example !== null && <Button text="Insert into the editor" onClick={() => write(example)} />}
        {exercises.map((one) => (
          <Button text={one.title} key={one.name} onClick={() => train(one.name)} />
        ))}
      </p>
    </div>
  );
}

function places({ places: { length }, is_all: isAll }: RuleFollowed, example: string | null): string {
  if (example === null) return "It applies to parquet stores only.";
  if (length === 0) return isAll ? "Not used in this text." : "Not used in the part of the text that is shown.";
  const said = length === 1 ? "1 place in the text follows it" : `${count(length)} places in the text follow it`;
  return `${isAll ? "" : "At least "}${said}.`;
}
