/** The exercise that is open: what to do, how far it is done, help on request, and what it taught. */

import { Select, Sentences } from "../shared/controls.tsx";
import { Button, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Lesson, ListedExercise } from "../shared/wire.ts";
import type { Tasks } from "./tasks.ts";

/** Python says so, too, in the session in which the solution was shown. */
const NOT_COUNTED = "Right. It does not count: the solution was shown.";

interface Props {
  tasks: Tasks;
  /** Puts a text into the editor. */
  write(text: string): void;
  /** Shows a rule in the specification. */
  cite(rule: string): void;
}

export function TaskPanel({ tasks, write, cite }: Props) {
  const { all, task, result, solved, shown, solution, trouble } = useStore(tasks);
  if (task === null || result === null) return null;
  const place = all.findIndex((one) => one.name === task.name);
  const next = all[place + 1];
  return (
    <section class="task" aria-label="Exercise">
      <div class="task-head">
        <Choice tasks={tasks} chosen={task.name} />
        <span class="quiet">
          {task.topic}, level {task.level} of 3
        </span>
        <span class="quiet">{progress(all, solved, shown)}</span>
        <span class="space" />
        <Button text="Start again" onClick={() => tasks.restart()} />
        {task.ask !== null && <Button text={task.ask} disabled={result.passed === true} onClick={() => tasks.hint()} />}
        {solution === null && <Button text="Show a solution" onClick={() => tasks.solve()} />}
        {next && <Button text="Next" onClick={() => tasks.choose(next.name)} />}
      </div>
      <div class="task-body">
        <div>
          <p>
            <Sentence text={task.task} />
          </p>
          {task.rules.length > 0 && (
            <p class="task-rules quiet">
              Rules:{" "}
              {task.rules.map(({ name, sentence }) => (
                <Button text={name} key={name} title={sentence} onClick={() => cite(name)} />
              ))}
            </p>
          )}
          {task.given !== null && (
            <pre class="given" role="group" aria-label="Given text">
              {task.given}
            </pre>
          )}
        </div>
        <div>
          <p class={result.passed ? "passed" : "quiet"} role="status">
            {result.passed !== null && <span aria-hidden="true">{result.passed ? "✓ " : "○ "}</span>}
            <Sentence text={trouble ?? (result.passed && shown.includes(task.name) ? NOT_COUNTED : result.sentence)} />
          </p>
          {result.lesson !== null && <Taught lesson={result.lesson} />}
          {!result.passed && <Sentences class="hints" label="Hints" of={task.hints} />}
          {solution !== null && (
            <div class="solution">
              <pre role="group" aria-label="A solution">
                {solution}
              </pre>
              <Button text="Insert into the editor" onClick={() => write(solution)} />
            </div>
          )}
        </div>
      </div>
    </section>
  );
}

/** How many are solved, "2 of 40 solved". */
function progress(all: ListedExercise[], solved: string[], shown: string[]): string {
  const [own, seen] = [solved, shown].map((names) => all.filter(({ name }) => names.includes(name)).length);
  const rest = seen === 0 ? "" : `, ${seen} with the solution shown, which ${seen === 1 ? "does" : "do"} not count`;
  return `${own === all.length ? "All" : own} of ${all.length} solved${rest}`;
}

/** What there is to know once it is solved. */
function Taught({ lesson: { why, others } }: { lesson: Lesson }) {
  return (
    <div class="taught">
      <p>
        <Sentence text={why} />
      </p>
      {others.map(({ text, note }) => (
        <details key={text}>
          <summary>
            Also right: <Sentence text={note} />
          </summary>
          <pre>{text}</pre>
        </details>
      ))}
    </div>
  );
}

function Choice({ tasks, chosen }: { tasks: Tasks; chosen: string }) {
  const { all, solved } = useStore(tasks);
  const text = ({ name, title }: ListedExercise, place: number) =>
    `${solved.includes(name) ? "✓ " : ""}${place + 1}. ${title}`;
  const options = [...new Set(all.map((one) => one.topic))].map((label) => ({
    label,
    options: all.flatMap((one, place) => (one.topic === label ? [[one.name, text(one, place)] as const] : [])),
  }));
  const choose = (name: string) => void tasks.choose(name);
  return <Select class="field" aria-label="Choose an exercise" value={chosen} options={options} choose={choose} />;
}
