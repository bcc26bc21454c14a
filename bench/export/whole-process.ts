/** Runs a program and measures its CPU time and peak memory. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endedChildrenSeconds, megabytesOf, peakResidentMiB } from '../process-figures.ts';

export interface ProcessFigures {
  readonly seconds: number;
  readonly processorSeconds: number;
  /** Peak memory of the process, in MB. */
  readonly peakResidentMb: number;
}

const lookEveryMs = 20;

/** Node's memory settings in the container image (Dockerfile). */
export const imageEnvironment = { MALLOC_ARENA_MAX: '1', NODE_OPTIONS: '--max-semi-space-size=4' } as const;

export const imageArguments = ['--min-semi-space-size=4'] as const;

/**
 * Runs a program, measures its CPU time, and calls `meanwhile` regularly. While the program runs, no other child
 * process may end, because its CPU time would be counted too.
 */
export async function runWhole(
  [program, ...args]: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
  meanwhile = () => {},
): Promise<ProcessFigures> {
  const [startMs, before] = [performance.now(), endedChildrenSeconds()];
  let said = '';
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment },
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
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
  if (status !== 0) throw new Error(`${program} ended with exit status ${status}: ${said}`);
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
    return 0;
  }
}
