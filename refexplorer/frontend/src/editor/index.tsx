import codeCss from "../styles/code.css";
import derivationCss from "../styles/derivation.css";
import editorCss from "../styles/editor.css";
import panelsCss from "../styles/panels.css";
import { mount } from "../shared/mount.tsx";
import { Editor } from "./editor.tsx";

/** For Panel's JSComponent, which looks for the name; anywidget uses the default export. */
export const render = mount(Editor, codeCss + derivationCss + panelsCss + editorCss);
export default { render };
