/** A program run as a process of its own and measured from outside, from its start to its end: what it took of processors and memory. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endedChildrenSeconds, megabytesOf, peakResidentMiB } from '../process-figures.ts';

export interface ProcessFigures {
  readonly seconds: number;
  /** Of all its threads, user and system. */
  readonly processorSeconds: number;
  /** Million bytes, the most that it ever had. */
  readonly peakResidentMb: number;
}

const lookEveryMs = 20;

/** `meanwhile` is called every now and then. No other process may end at the same time. */
export async function runWhole(
  program: string,
  order: object,
  environment: Readonly<Record<string, string>>,
  meanwhile: () => void,
): Promise<ProcessFigures> {
  const [startMs, before] = [performance.now(), endedChildrenSeconds()];
  const child = spawn(process.execPath, [program, JSON.stringify(order)], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...environment },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`cannot start ${program}`);
  let peakMiB = 0;
  const looking = setInterval(() => {
    peakMiB = Math.max(peakMiB, peakOf(pid));
    meanwhile();
  }, lookEveryMs);
  const [status] = await once(child, 'exit');
  clearInterval(looking);
  if (status !== 0) throw new Error(`${program} ended with ${status}`);
  return {
    seconds: (performance.now() - startMs) / 1_000,
    processorSeconds: endedChildrenSeconds() - before,
    peakResidentMb: megabytesOf(peakMiB),
  };
}

function peakOf(pid: number): number {
  try {
    return peakResidentMiB(pid) || 0;
  } catch {
    // It has just ended.
    return 0;
  }
}
