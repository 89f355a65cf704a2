/** Light or dark for the whole page; remembered by the browser. */

import { useEffect, useState } from "preact/hooks";

import { keep, kept } from "../shared/browser.ts";
import { Button } from "../shared/parts.tsx";
import { watchTheme, type Theme } from "../shared/theme.ts";

const KEPT = "refexplorer-theme";

export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>("light");
  useEffect(() => {
    const chosen = kept(KEPT);
    if (typeof chosen === "string") document.documentElement.dataset["theme"] = chosen;
    return watchTheme((appearance) => setTheme(appearance.theme));
  }, []);
  const other = theme === "light" ? "dark" : "light";
  const flip = () => {
    keep(KEPT, other);
    document.documentElement.dataset["theme"] = other;
  };
  return (
    <Button class="button theme" onClick={flip} aria-label={`Use ${other} colours`}>
      {theme === "light" ? "◐" : "◑"} <span>{theme === "light" ? "Dark" : "Light"}</span>
    </Button>
  );
}
