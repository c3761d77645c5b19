import DefaultTheme from "vitepress/theme-without-fonts";
// oxlint-disable-next-line no-unassigned-import -- a style has nothing to assign
import "@fontsource-variable/inter/wght.css";
// oxlint-disable-next-line no-unassigned-import -- a style has nothing to assign
import "../../.pages/tokens.css";
// oxlint-disable-next-line no-unassigned-import -- a style has nothing to assign
import "./site.css";
import moved from "../moved.json";

/** Links to headings that have moved, or have another name, lead to where they are now. */
export default {
  extends: DefaultTheme,
  enhanceApp({ router, siteData }) {
    if (import.meta.env.SSR) return;
    const follow = () => {
      const { base } = siteData.value;
      const page = location.pathname.slice(base.length).replace(/\.html$/, "");
      const [to, anchor] = moved[`${page}${location.hash}`]?.split("#") ?? [];
      if (to === undefined || document.querySelector(location.hash) !== null) return;
      void router.go(`${base}${to}.html${anchor === undefined ? "" : `#${anchor}`}`);
    };
    router.onAfterRouteChange = follow;
    window.addEventListener("hashchange", follow);
  },
};
