/**
 * Creates names for temporary files, and finds the temporary files of processes that have ended (E15). If it is unknown
 * whether a file's process has ended, the file counts as abandoned after `silenceMs` without a change. A running
 * process updates the change time of its files every `heartbeatMs`.
 */
import type { LeftoverChoice } from '../store/destination.ts';
import type { Writer } from '../store/writer.ts';
import type { Folder, FolderEntry } from './folder.ts';

export const heartbeatMs = 10_000;
const silenceMs = 60_000;

const prefix = '.logfleet-';
const suffix = '.part';

/** Creates a name for a temporary file. The name begins with a dot. */
export function temporaryName(writer: Writer): string {
  return `${prefix}${writer.newToken()}${suffix}`;
}

/** Removes temporary files from a folder, and returns the number of removed files. */
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

/** Reads the volume's clock, in ms, by creating a file. */
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
