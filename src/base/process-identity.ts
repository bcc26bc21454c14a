/**
 * Identity of a process across machines, containers and reboots. A pid alone is not enough, because pids are reused,
 * and each container has its own pids. Only a process on the same machine, in the same boot and pid namespace
 * (`scope`), can check whether a pid is in use.
 */
import { readFile, readlink } from 'node:fs/promises';
import { hostname as machineName } from 'node:os';
import { systemCode } from './errors.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** Start time of the process in clock ticks since boot; empty if unknown. */
  readonly processStart: string;
  /** Environment in which pids are unique: the machine, boot and pid namespace. */
  readonly scope: string;
}

/** Returns the identity of the current process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, processStart: await readProcessStart(process.pid), scope: await readScope() };
}

/**
 * Reports whether a process is still running. The process must have the same `scope` (machine, boot and pid namespace)
 * as this process.
 */
export async function isRunning({ pid, processStart }: Omit<ProcessIdentity, 'scope'>): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // The error EPERM means that the process exists but belongs to another user.
    if (systemCode(error) === 'ESRCH') return false;
  }
  return (await readProcessStart(pid)) === processStart;
}

/**
 * Returns the start time of a process (field 22 of `/proc/<pid>/stat`), or `ended` for a zombie process. Returns an
 * empty string if the time cannot be read, for example on systems other than Linux.
 */
async function readProcessStart(pid: number): Promise<string> {
  try {
    const line = await readFile(`/proc/${pid}/stat`, 'utf8');
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? '');
  } catch {
    return '';
  }
}

async function readScope(): Promise<string> {
  const bootId = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  const pidNamespace = await readlink('/proc/self/ns/pid').catch(() => '');
  return [machineName(), bootId.trim(), pidNamespace].join(' ');
}
