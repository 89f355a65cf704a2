import css from "../styles/editor.css";
import { mount } from "../shared/mount.tsx";
import { Editor } from "./editor.tsx";

/** For Panel's JSComponent, which looks for the name; anywidget takes the default export. */
export const render = mount(Editor, css);
export default { render };
