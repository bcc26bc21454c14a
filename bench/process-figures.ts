/** Reads a process's CPU time and memory from /proc (Linux). */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Folder in which Node caches compiled code. Without this cache, Node compiles the TypeScript sources in each process,
 * which takes 30 MB more memory.
 */
export const compileCache: string = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url));

const ticksPerSecond = 100;

/** Returns the CPU time of all threads of a process, in seconds. */
export function processorSeconds(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

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

/** Returns the peak resident memory of a process in MiB. */
export function peakResidentMiB(pid: number): number {
  return statusMiB(pid, 'VmHWM');
}

function statusMiB(pid: number, member: string): number {
  const kib = new RegExp(`${member}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}
