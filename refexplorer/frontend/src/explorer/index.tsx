import { mount } from "../shared/mount.tsx";
import data from "../styles/data.css";
import explorer from "../styles/explorer.css";
import inspector from "../styles/inspector.css";
import maps from "../styles/maps.css";
import tree from "../styles/tree.css";
import { Explorer } from "./explorer.tsx";

/** For Panel's JSComponent, which looks for the name; anywidget takes the default export. */
export const render = mount(Explorer, explorer + tree + inspector + data + maps);
export default { render };
