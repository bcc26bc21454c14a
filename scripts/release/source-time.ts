/** Modification time of all files in a build. The default is the time of the commit, for reproducible builds. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Returns the time in `SOURCE_DATE_EPOCH`, in seconds. If this variable is not set, returns the time of the commit. */
export function sourceTime(env: NodeJS.ProcessEnv = process.env): Date {
  const seconds = env['SOURCE_DATE_EPOCH'] || commitSeconds();
  if (!/^\d+$/.test(seconds))
    throw new Error(`SOURCE_DATE_EPOCH is ${seconds}: set it to a number of seconds since 1970.`);
  return new Date(Number(seconds) * 1000);
}

function commitSeconds(): string {
  return execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();
}
