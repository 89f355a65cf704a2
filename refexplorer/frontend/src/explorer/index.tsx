import { mount } from "../shared/mount.tsx";
import explorer from "../styles/explorer.css";
import { Explorer } from "./explorer.tsx";
import { VIEWS } from "../../generated/views.ts";
import changes from "../styles/changes.css";
import data from "../styles/data.css";
import derivation from "../styles/derivation.css";
import health from "../styles/health.css";
import hex from "../styles/hex.css";
import inspector from "../styles/inspector.css";
import maps from "../styles/maps.css";
import tree from "../styles/tree.css";

/** What several views share, then those that have a style sheet of their own. */
const STYLES = [explorer, health, tree, inspector, derivation, hex, data, maps, changes];

/** For Panel's JSComponent, which looks for the name; anywidget uses the default export. */
export const render = mount(Explorer, [...STYLES, ...VIEWS.map(({ style = "" }) => style)].join(""));
export default { render };
