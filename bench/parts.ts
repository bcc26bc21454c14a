/** What benchmarks of several parts have alike: which of them are asked for, and what machine measured them. */
import { availableParallelism, cpus, loadavg } from 'node:os';

/** Tells whether a part is wanted. Undefined, once it was said on stderr, where something else than a part was asked for. */
export function wantedParts<Part extends string>(
  parts: readonly Part[],
  only: readonly string[] | undefined,
): ((part: Part) => boolean) | undefined {
  const unknown = only?.filter((part) => !parts.some((known) => known === part)) ?? [];
  if (unknown.length === 0) return (part) => only?.includes(part) ?? true;
  console.error(`--only takes ${parts.join(', ')}, and not ${unknown.join(', ')}`);
  process.exitCode = 2;
  return undefined;
}

export interface Machine {
  readonly machine: string;
  /** How many processes wanted a processor in the minute before: with more of them than processors, times say little. */
  readonly loadBefore: number;
}

export function thisMachine(): Machine {
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim()}, Node ${process.version}`;
  return { machine, loadBefore: loadavg()[0] ?? Number.NaN };
}

export function machineLine({ machine, loadBefore }: Machine): string {
  return `${machine}, load before ${loadBefore.toFixed(1)}`;
}
