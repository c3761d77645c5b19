// Imported first by every process of the bench, so that none outlives it, however it ends.
process.on("disconnect", () => process.exit());
