/** The built page: `index.html`, and `assets/` whose names carry their content's hash. */
export const pageFolder: URL = new URL("../dist/page/", import.meta.url);
