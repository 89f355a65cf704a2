/** The exercise that is open: what to do, how far it is done, and help on request. */

import { Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { ListedExercise } from "../shared/wire.ts";
import type { Tasks } from "./tasks.ts";

interface Props {
  tasks: Tasks;
  /** Puts a text into the editor. */
  write(text: string): void;
}

export function TaskPanel({ tasks, write }: Props) {
  const { all, task, result, solved, solution, trouble } = useStore(tasks);
  if (task === null || result === null) return null;
  const place = all.findIndex((one) => one.name === task.name);
  const next = all[place + 1];
  return (
    <section class="task" aria-label="Exercise">
      <div class="task-head">
        <Choice all={all} solved={solved} chosen={task.name} choose={(name) => tasks.choose(name)} />
        <span class="quiet">{task.topic}, level {task.level} of 3</span>
        <span class="quiet">{solved.length} of {all.length} solved</span>
        <span class="space" />
        <button type="button" class="button" onClick={() => tasks.restart()}>Start again</button>
        {task.hints.length < task.hint_count && (
          <button type="button" class="button" onClick={() => tasks.hint()}>
            {task.hints.length === 0 ? "Hint" : "Another hint"}
          </button>
        )}
        {solution === null && <button type="button" class="button" onClick={() => tasks.solve()}>Show a solution</button>}
        {next && <button type="button" class="button" onClick={() => tasks.choose(next.name)}>Next</button>}
      </div>
      <p class="task-text"><Sentence text={task.task} /></p>
      <p class={result.passed ? "passed" : "quiet"} role="status">
        <span aria-hidden="true">{result.passed ? "✓ " : "○ "}</span>
        <Sentence text={trouble ?? result.sentence} />
      </p>
      {task.hints.length > 0 && (
        <ul class="hints" aria-label="Hints">
          {task.hints.map((hint) => <li key={hint}><Sentence text={hint} /></li>)}
        </ul>
      )}
      {solution !== null && (
        <div class="solution">
          <pre role="group" aria-label="A solution">{solution}</pre>
          <button type="button" class="button" onClick={() => write(solution)}>Put it into the editor</button>
        </div>
      )}
    </section>
  );
}

interface ChoiceProps {
  all: ListedExercise[];
  solved: string[];
  chosen: string;
  choose(name: string): void;
}

function Choice({ all, solved, chosen, choose }: ChoiceProps) {
  const topics = [...new Set(all.map((one) => one.topic))];
  return (
    <select
      class="field"
      aria-label="Choose an exercise"
      value={chosen}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {topics.map((topic) => (
        <optgroup key={topic} label={topic}>
          {all.filter((one) => one.topic === topic).map((one) => (
            <option key={one.name} value={one.name}>
              {solved.includes(one.name) ? "✓ " : ""}{all.indexOf(one) + 1}. {one.title}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}
