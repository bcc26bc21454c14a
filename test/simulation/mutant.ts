/** A program that breaks one rule, and whether histories show that it does. */
import { countFrom, HistoryPool } from './history-pool.ts';
import type { Mutation } from './mutated-sources.ts';

export interface Mutant {
  readonly rule: string;
  readonly name: string;
  /** Histories that lead to where the rule decides. */
  readonly directions: string;
  readonly mutations: readonly Mutation[];
  /** How a violation begins that shows it, where that is not the rule: much that breaks one shows by what comes of it. */
  readonly shows?: string;
}

/** One that changes a single expression. */
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

const mostTold = 3;

/** Undefined as soon as a history shows it; what they show else where none of so many does. */
export async function whyUnseen(
  { rule, directions, mutations, shows = `${rule}:` }: Mutant,
  worker: URL,
  mostSeeds: number,
): Promise<string | undefined> {
  const pool = new HistoryPool({ threads: 1, mutations, worker });
  const others = new Set<string>();
  let isSeen = false;
  try {
    await pool.run({
      ...{ seeds: countFrom(1, mostSeeds), directions },
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
  return `no violation begins with ${shows}; there are ${[...others].slice(0, mostTold).join('; ') || 'none'}`;
}
