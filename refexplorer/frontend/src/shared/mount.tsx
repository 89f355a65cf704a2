/** Puts a view into a shadow root of its own, in whichever host. */

import { render, type ComponentType } from "preact";

import baseCss from "../styles/base.css";
import contrastCss from "../styles/contrast.css";
import "./escaping.ts";
import { adapt, type Host, type Model, type Off } from "./host.ts";
import { watchTheme } from "./theme.ts";

export interface ViewProps {
  host: Host;
  root: ShadowRoot;
}

export type Render = (props: { model: Model; el: HTMLElement }) => Off;

/** A view that has the document to itself is its main part, unless it is the frame of another. */
export function mount(View: ComponentType<ViewProps>, css: string, isFrame = false): Render {
  return ({ model, el }) => {
    const host = adapt(model);
    const frame = document.createElement("div");
    frame.dataset["place"] = host.place;
    const root = frame.attachShadow({ mode: "open" });
    const style = document.createElement("style");
    style.textContent = baseCss + css + contrastCss;
    const body: HTMLElement = document.createElement(host.isMain && !isFrame ? "main" : "div");
    body.className = "rx";
    root.append(style, body);
    el.append(frame);
    body.addEventListener("keydown", keepFromNotebook);
    const offTheme = watchTheme(({ theme, strong, few }) => {
      body.dataset["contrast"] = strong ? "more" : "";
      body.dataset["colours"] = few ? "few" : "";
      body.dataset["theme"] = theme;
    });
    render(<View host={host} root={root} />, body);
    const leave = () => {
      offTheme();
      render(null, body);
      frame.remove();
    };
    host.onLeave(leave);
    return leave;
  };
}

/** Keys typed into the view are not the notebook's; its Ctrl and Cmd shortcuts stay, unless used here. */
function keepFromNotebook(event: KeyboardEvent): void {
  if (event.defaultPrevented || !(event.ctrlKey || event.metaKey)) event.stopPropagation();
}
