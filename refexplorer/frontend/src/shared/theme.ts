/** Light or dark, and how strong: what the surroundings say, then what the system says. */

import type { Off } from "./host.ts";
import { bytesOf } from "./palette.ts";

export type Theme = "light" | "dark";

export interface Appearance {
  theme: Theme;
  /** Contrasts are to be high. */
  strong: boolean;
  /** The system keeps to few colours of its own. */
  few: boolean;
}

/** Calls with what the surroundings look like, at once and after each change. */
export function watchTheme(callback: (appearance: Appearance) => void): Off {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const contrast = matchMedia("(prefers-contrast: more)");
  const forced = matchMedia("(forced-colors: active)");
  const tell = () =>
    callback({
      theme: surroundings() ?? (system.matches ? "dark" : "light"),
      strong: isStrong() || contrast.matches,
      few: forced.matches,
    });
  const observer = new MutationObserver(tell);
  const attributeFilter = [
    "class",
    "style",
    "data-theme",
    "data-jp-theme-light",
    "data-jp-theme-name",
    "data-vscode-theme-kind",
  ];
  for (const element of [document.documentElement, document.body]) {
    observer.observe(element, { attributes: true, attributeFilter });
  }
  for (const query of [system, contrast, forced]) query.addEventListener("change", tell);
  tell();
  return () => {
    observer.disconnect();
    for (const query of [system, contrast, forced]) query.removeEventListener("change", tell);
  };
}

/** Whether JupyterLab or VS Code shows one of its themes of high contrast. */
function isStrong(): boolean {
  const { jpThemeName = "", vscodeThemeKind = "" } = document.body.dataset;
  return /high.?contrast/i.test(`${jpThemeName} ${vscodeThemeKind}`);
}

function surroundings(): Theme | null {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === "true" ? "light" : "dark";
  if (vscodeThemeKind) return vscodeThemeKind.includes("light") ? "light" : "dark";
  const named = document.documentElement.dataset["theme"];
  if (named === "light" || named === "dark") return named;
  return background(document.body) ?? background(document.documentElement) ?? canvas();
}

/** A page that knows nothing of dark colours is white, whatever the system prefers. */
function canvas(): Theme | null {
  const { colorScheme } = getComputedStyle(document.documentElement);
  if (!colorScheme.includes("dark")) return "light";
  return colorScheme.includes("light") ? null : "dark";
}

function background(element: Element): Theme | null {
  const [red, green, blue, alpha] = bytesOf(getComputedStyle(element).backgroundColor);
  if (alpha === 0) return null;
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
}
