/** The frame of the view on a saved page: its title, and what was found about its targets. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Button } from "../shared/parts.tsx";
import type { Render } from "../shared/mount.tsx";
import { ThemeButton } from "../page/themebutton.tsx";
import type { SavedContent } from "./content.ts";

interface ViewProps {
  model: Parameters<Render>[0]["model"];
  /** Draws the view. */
  show: Render;
}

interface Props extends ViewProps {
  content: SavedContent;
  label: string;
}

export function SavedPage({ content, label: main, model, show }: Props) {
  const { title, version, made, part, reports } = content;
  const [shown, turn] = useState(main);
  const labels = [main, ...reports.map(({ label }) => label)];
  return (
    <div class="page saved">
      <header class="bar top">
        <b class="brand">refexplorer</b>
        {labels.length > 1 && (
          <nav aria-label="Views">
            {labels.map((label) => (
              <Button
                text={label}
                key={label}
                class="nav"
                data-name={label}
                aria-current={shown === label ? "page" : undefined}
                onClick={() => turn(label)}
              />
            ))}
          </nav>
        )}
        <span class="space" />
        <ThemeButton />
      </header>
      <aside class="notice" aria-label="About this page">
        {title} as it was known on {made}, saved with refexplorer {version}. {part} This page reads nothing: what was
        not recorded is not included.
      </aside>
      <View model={model} show={show} hidden={shown !== main} />
      {reports
        .filter(({ label }) => label === shown)
        .map(({ label, html }) => (
          // Written by Python with every text escaped; the page runs no script but its own.
          <main key={label} class="report" aria-label={label} dangerouslySetInnerHTML={{ __html: html }} />
        ))}
    </div>
  );
}

/** The view, which stays as it is while a report is shown. */
function View({ model, show, hidden }: ViewProps & { hidden: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => show({ model, el: box.current! }), [model]);
  return <div class="explored" hidden={hidden} ref={box} />;
}
