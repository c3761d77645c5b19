import DefaultTheme from "vitepress/theme-without-fonts";
// oxlint-disable-next-line no-unassigned-import -- a style has nothing to assign
import "./tokens.css";

export default DefaultTheme;
