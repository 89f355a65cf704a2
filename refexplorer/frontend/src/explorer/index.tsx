import { mount } from "../shared/mount.tsx";
import explorer from "../styles/explorer.css";
import { Explorer } from "./explorer.tsx";
import { STYLES } from "./parts.tsx";

/** For Panel's JSComponent, which looks for the name; anywidget takes the default export. */
export const render = mount(Explorer, explorer + STYLES);
export default { render };
