/** Code shared by benchmarks: selects the parts to run, and describes the machine. */
import { availableParallelism, cpus, loadavg } from 'node:os';

/**
 * Returns a function that reports whether the user requested a given part of the benchmark. If the user requested a
 * part that does not exist, prints an error and returns undefined.
 */
export function wantedParts<Part extends string>(
  parts: readonly Part[],
  only: readonly string[] | undefined,
): ((part: Part) => boolean) | undefined {
  const unknown = only?.filter((part) => !parts.some((known) => known === part)) ?? [];
  if (unknown.length === 0) return (part) => only?.includes(part) ?? true;
  console.error(`--only does not accept ${unknown.join(', ')}; choose from ${parts.join(', ')}`);
  process.exitCode = 2;
  return undefined;
}

export interface Machine {
  readonly machine: string;
  /**
   * Load average of the machine in the minute before the benchmark. If this load is higher than the number of
   * processors, the measured times are unreliable.
   */
  readonly loadBefore: number;
}

export function thisMachine(): Machine {
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim()}, Node ${process.version}`;
  return { machine, loadBefore: loadavg()[0] ?? Number.NaN };
}

export function machineLine({ machine, loadBefore }: Machine): string {
  return `${machine}, load before ${loadBefore.toFixed(1)}`;
}
