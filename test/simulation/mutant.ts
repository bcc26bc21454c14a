/** A mutant is a copy of the program with one rule broken. Simulated runs must detect every mutant. */
import { countFrom, HistoryPool } from './history-pool.ts';
import type { Mutation } from './mutated-sources.ts';

export interface Mutant {
  readonly rule: string;
  readonly name: string;
  /** Name of a plan in `directed-plans.ts`. A simulation with this plan must detect the mutant. */
  readonly directions: string;
  readonly mutations: readonly Mutation[];
  /**
   * Start of the violation that a simulation with this mutant must report. If undefined, any violation of the rule that
   * the mutant breaks is sufficient.
   */
  readonly shows?: string;
}

export function mutant(
  rule: string,
  name: string,
  directions: string,
  file: string,
  find: string,
  replace: string,
  shows = `${rule}:`,
): Mutant {
  return { rule, name, directions, shows, mutations: [{ file, find, replace }] };
}

const maxReported = 3;

/**
 * Runs simulations until one of them detects the mutant. If none does, returns a message with the other violations
 * found.
 */
export async function whyUnseen(
  { rule, directions, mutations, shows = `${rule}:` }: Mutant,
  worker: URL,
  maxSeeds: number,
): Promise<string | undefined> {
  const pool = new HistoryPool({ threads: 1, mutations, worker });
  const others = new Set<string>();
  let isSeen = false;
  try {
    await pool.run({
      ...{ seeds: countFrom(1, maxSeeds), directions },
      onReply: ({ violations }) => {
        for (const one of violations) others.add(one);
        isSeen ||= violations.some((one) => one.startsWith(shows));
        return isSeen;
      },
    });
  } finally {
    await pool.close();
  }
  if (isSeen) return undefined;
  return `no violation begins with ${shows}; there are ${[...others].slice(0, maxReported).join('; ') || 'none'}`;
}
