import css from "../styles/explorer.css";
import { mount } from "../shared/mount.tsx";
import { Explorer } from "./explorer.tsx";

/** For Panel's JSComponent, which looks for the name; anywidget takes the default export. */
export const render = mount(Explorer, css);
export default { render };
