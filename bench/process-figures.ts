/** What Linux knows of a process: processor time and memory, from /proc. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where `src/main.ts` has it, too: a process that had to strip types itself would show the 30 MB that this takes. */
export const compileCache: string = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url));

const ticksPerSecond = 100;

/** Of user and system, all threads. */
export function processorSeconds(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The same of all processes that this one has started and that have ended, from their start to their end. */
export function endedChildrenSeconds(): number {
  const fields = statFields(process.pid);
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
}

function statFields(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
}

export function residentMiB(pid: number): number {
  return statusMiB(pid, 'VmRSS');
}

const mebibyte = 1_048_576;

export function megabytesOf(mebibytes: number): number {
  return (mebibytes * mebibyte) / 1e6;
}

/** The most that was ever resident. */
export function peakResidentMiB(pid: number): number {
  return statusMiB(pid, 'VmHWM');
}

function statusMiB(pid: number, member: string): number {
  const kib = new RegExp(`${member}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}
