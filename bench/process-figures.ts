/** What Linux knows of a process: processor time and memory, from /proc. */
import { readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** Of user and system, all threads. */
export function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

export function residentMiB(pid: number): number {
  return statusMiB(pid, 'VmRSS');
}

/** The most that was ever resident. */
export function peakResidentMiB(pid: number): number {
  return statusMiB(pid, 'VmHWM');
}

function statusMiB(pid: number, member: string): number {
  const kib = new RegExp(`${member}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}
