/**
 * Names temporary files, and finds the temporary files of processes that have ended (E15).
 *
 * If the writer ran in the same scope as this process (`writer.ts`), its file is a leftover as soon as the writer has ended. In other
 * cases, the file is a leftover when its writer has not touched it for `silenceMs`. Writers touch their files every `heartbeatMs`, even
 * while they wait for rows. Only the clock of the volume counts: the change time of the file is compared with that of a new probe file.
 *
 * A writer that was suspended for longer loses its file and fails with `destination.lost`. Files with their final name are never removed.
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

/** Removes the temporary files in one folder: of ended processes, or all. Returns the number of removed files. */
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

/** Returns the current time of the volume's clock, in ms. */
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
