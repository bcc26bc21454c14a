/**
 * Names temporary files, and finds the temporary files of processes that have ended (E15).
 *
 * If this process cannot check whether the process that writes a file still runs, the file counts as abandoned when its change time is more
 * than `silenceMs` ago. Running processes update the change time every `heartbeatMs`. Times are compared by the clock of the volume, which
 * may differ from the clock of this machine.
 */
import type { LeftoverChoice } from '../destination.ts';
import type { Writer } from '../writer.ts';
import type { Folder, FolderEntry } from './folder.ts';

export const heartbeatMs = 10_000;
const silenceMs = 60_000;

const prefix = '.logfleet-';
const suffix = '.part';

/** Creates a temporary file name. The name begins with a dot, so no file of an export has this name. */
export function temporaryName(writer: Writer): string {
  return `${prefix}${writer.newToken()}${suffix}`;
}

/** Removes temporary files from one folder: all of them, or only those of ended processes. Returns the number of removed files. */
export async function removeLeftovers(
  folder: Folder,
  entries: readonly FolderEntry[],
  writer: Writer,
  choice: LeftoverChoice,
): Promise<number> {
  let removed = 0;
  let nowMs: number | undefined;
  for (const { name } of entries) {
    if (!name.startsWith(prefix) || !name.endsWith(suffix)) continue;
    const state = choice === 'all' ? 'ended' : await writer.stateOf(name);
    if (state === 'living') continue;
    if (state === 'unknown') {
      nowMs ??= await volumeTimeMs(folder, writer);
      const found = await folder.stat(name);
      if (!found || nowMs - Number(found.ctimeMs) < silenceMs) continue;
    }
    if (await folder.unlink(name)) removed++;
  }
  return removed;
}

/** Returns the time of the volume's clock in ms, which is read from a new file. */
async function volumeTimeMs(folder: Folder, writer: Writer): Promise<number> {
  const name = temporaryName(writer);
  const probe = await folder.newFile(name);
  try {
    return (await probe.stat()).ctimeMs;
  } finally {
    await probe.close();
    await folder.unlink(name);
  }
}
