/**
 * Which process is meant, across machines, containers and reboots: a pid alone says little, since pids are used again and mean
 * something else in another container.
 *
 * Invariant: a process is called dead only where its pid can be looked up, which is in its own scope.
 */
import { readFile, readlink } from 'node:fs/promises';
import { hostname as machineName } from 'node:os';

export interface ProcessIdentity {
  readonly pid: number;
  /** When the process began, in ticks since the machine did; tells apart processes that got the same pid. Empty where unknown. */
  readonly processStart: string;
  /** Within what pids mean the same: machine, boot and, on Linux, pid namespace. */
  readonly scope: string;
}

/** Who we are. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, processStart: await readProcessStart(process.pid), scope: await readScope() };
}

/** Whether a process of our own scope still runs. */
export async function isRunning({ pid, processStart }: Omit<ProcessIdentity, 'scope'>): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: there is such a process, and it belongs to somebody else.
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
  }
  return (await readProcessStart(pid)) === processStart;
}

/**
 * Field 22 of Linux' `/proc/<pid>/stat`, counted behind the name in parentheses; empty on other systems. A process that has ended
 * and that its parent has not asked about yet (state Z) has no start any more.
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
