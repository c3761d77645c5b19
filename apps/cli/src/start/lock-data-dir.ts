import { isMillraceError, MillraceError } from "@millrace/core";
import { lockFolder } from "@millrace/embedded-postgres";
import { reasonOf } from "@millrace/service";

/**
 * Makes the data folder where it is missing, and keeps it for this start alone.
 *
 * @throws `already_running`; `invalid_config` for a folder that cannot be made or written.
 */
export async function lockDataDir(dataDir: string): Promise<{ release(): Promise<void> }> {
  try {
    return await lockFolder(dataDir);
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw new MillraceError(
      "invalid_config",
      `Cannot keep data in "${dataDir}": ${reasonOf(error)}. Choose another folder with MILLRACE_DATA_DIR`,
      { cause: error },
    );
  }
}
