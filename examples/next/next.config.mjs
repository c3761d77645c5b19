export default {
  // Left to Node: it reads files by their place, which a bundle does not keep.
  serverExternalPackages: ["millrace"],
};
