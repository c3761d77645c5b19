/** What a stage stands on. */
export interface StageOptions {
  /** The folder that relative paths of the config are relative to; `import.meta.dirname` where the
   * config lies beside the test. Default: the current folder. */
  readonly directory?: string;
  /** A Postgres whose user may create databases; nothing is written to the database that it names.
   * Default: `TEST_DATABASE_URL`, else `DATABASE_URL`, else a Postgres of the stage's own. */
  readonly databaseUrl?: string;
}
