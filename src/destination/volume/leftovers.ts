/**
 * Files that are being written: what they are called, and which of them were left behind by a process that died (E15).
 *
 * Of our own scope a file is left over as soon as its process has ended (`writer.ts`). From elsewhere it is when its writer has
 * not touched it for `silenceMs`; writers touch theirs every `heartbeatMs`, also while they wait for rows. Age is by the
 * volume's own clock alone: the time of change of the file against that of a probe.
 *
 * A writer that was stopped for longer loses its file and fails with `destination.lost`. Nothing that can be seen under a name
 * is ever touched.
 */
import type { LeftoverChoice } from '../destination.ts';
import type { Writer } from '../writer.ts';
import type { Folder } from './folder.ts';

export const heartbeatMs = 10_000;
const silenceMs = 60_000;

const prefix = '.logfleet-';
const suffix = '.part';

/** Begins with a dot, as no name of an object does. */
export function temporaryName(writer: Writer): string {
  return `${prefix}${writer.newToken()}${suffix}`;
}

/** Removes what dead writers left in one folder, or all that is being written there, and says how many. */
export async function removeLeftovers(folder: Folder, writer: Writer, choice: LeftoverChoice): Promise<number> {
  let removed = 0;
  let nowMs: number | undefined;
  for (const { name } of await folder.entries()) {
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

/** What the volume takes for now. */
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
