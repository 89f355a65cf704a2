import { mount } from "../shared/mount.tsx";
import changes from "../styles/changes.css";
import data from "../styles/data.css";
import derivation from "../styles/derivation.css";
import explorer from "../styles/explorer.css";
import health from "../styles/health.css";
import hex from "../styles/hex.css";
import inspector from "../styles/inspector.css";
import maps from "../styles/maps.css";
import tree from "../styles/tree.css";
import { Explorer } from "./explorer.tsx";

/** For Panel's JSComponent, which looks for the name; anywidget takes the default export. */
export const render = mount(Explorer, explorer + health + tree + inspector + derivation + hex + data + maps + changes);
export default { render };
