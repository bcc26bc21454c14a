/**
 * Cache of programs outside the checkout: `${XDG_CACHE_HOME:-~/.cache}/logfleet/NAME/VERSION/`.
 *
 * A folder gets its final name only when it is complete. Only one process at a time fills a folder.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startStep } from './progress.ts';

const lockPollMs = 500;

function cacheRoot(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'logfleet');
}

/**
 * Returns the folder `name/key` in the cache. If the folder does not exist, calls `fill` with an empty folder, which
 * then becomes the cached folder.
 */
export async function cached(name: string, key: string, fill: (directory: string) => Promise<void>): Promise<string> {
  const parent = join(cacheRoot(), name);
  const target = join(parent, key);
  if (existsSync(target)) return target;
  mkdirSync(parent, { recursive: true });
  const unlock = await lock(join(parent, `${key}.lock`));
  try {
    if (!existsSync(target)) {
      sweep(parent, `${key}.partial-`);
      const directory = mkdtempSync(join(parent, `${key}.partial-`));
      try {
        await fill(directory);
        renameSync(directory, target);
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    }
  } finally {
    unlock();
  }
  return target;
}

/** Removes incomplete folders, which are left behind if a process is killed while it is filling them. */
function sweep(parent: string, prefix: string): void {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(prefix)) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

/** Creates a lock file that contains the id of this process. Waits while another running process holds the lock. */
async function lock(file: string): Promise<() => void> {
  let waiting: ReturnType<typeof startStep> | undefined;
  for (;;) {
    try {
      const descriptor = openSync(file, 'wx');
      writeSync(descriptor, String(process.pid));
      closeSync(descriptor);
      waiting?.end();
      const release = () => rmSync(file, { force: true });
      process.once('exit', release);
      return () => {
        process.removeListener('exit', release);
        release();
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = holderOf(file);
    if (holder === undefined || !isAlive(holder)) {
      rmSync(file, { force: true });
      continue;
    }
    waiting ??= startStep(`waiting for process ${holder}, which is installing the same program`);
    await delay(lockPollMs);
  }
}

/** Returns the process id in the lock file, if there is one. */
function holderOf(file: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || undefined;
  } catch {
    return undefined;
  }
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
