import css from "../styles/page.css";
import { mount } from "../shared/mount.tsx";
import { Page } from "./page.tsx";

/** Only for Panel's JSComponent: a notebook needs no page around the views. */
export const render = mount(Page, css, true);
export default { render };
