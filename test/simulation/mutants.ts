/**
 * Mutants of the protocol: each breaks one rule by changing one expression of one file, to show that the oracles would see it.
 * A mutation whose text is not found exactly once fails loudly, so that none is lost when the code changes.
 */

export interface Mutation {
  /** Below `src/`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly rule: string;
  readonly name: string;
  /** Histories that lead to where the rule decides. */
  readonly directions: string;
  readonly mutations: readonly Mutation[];
}

function mutant(rule: string, name: string, directions: string, file: string, find: string, replace: string): Mutant {
  return { rule, name, directions, mutations: [{ file, find, replace }] };
}

export const mutants: readonly Mutant[] = [
  mutant('U2', 'what is posted is not written ahead', 'killed', 'policy/policy-runtime.ts', 'await this.#write(ledger, roster, bound.ownership, decision);', 'void this.#write(ledger, roster, bound.ownership, decision).catch(() => undefined);'),
  mutant('U2', 'nobody asks again before the write', 'paused', 'policy/posting.ts', 'if (!stillWanted(entry))', 'if (false)'),
  mutant('U2', 'a leader that slept posts on', 'frozen', 'policy/posting.ts', 'if (!stillWanted(entry))', 'if (false)'),
  mutant('U3', 'a lost answer counts as not sent', 'lost', 'policy/posting.ts', "if (error.effect === 'unknown') return { kind: 'unknown', message: error.message };", "if (error.effect === 'unknown') return { kind: 'notSent' };"),
  mutant('U3', 'probes wait for no grace', 'lost', 'policy/attempt.ts', 'row.seenAtMs >= attempt.sinceMs + settings.graceMs &&', 'true &&'),
  mutant('U4', 'any task is believed', 'mixedUp', 'policy/attempt.ts', 'if (task.collectorId !== entry.collectorId || task.toVersion !== open.toVersion) return undefined;', ''),
  mutant('U5', 'attempts may stay open', 'endless', 'policy/attempt.ts', 'if (now.monotonicMs < limitMs) return entry;', 'if (now.monotonicMs >= 0) return entry;'),
  mutant('U6', 'retries do not look first', 'late', 'policy/admission.ts', 'else if (this.#seenSince(id, entry.ending.sinceMs + settings.graceMs)) this.#begin(id, entry, false);', 'else this.#begin(id, entry, false);'),
  mutant('U7', 'every version is taken for visible', 'single', 'fleet/view.ts', 'return this.builds.some((build) => build !== version);', 'return version !== undefined;'),
  mutant('U7', 'the list towards the target is read', 'lagging', 'fleet/view.ts', 'const free = versions.filter((version) => !targeted.has(version));', 'const free = versions.filter((version) => targeted.has(version));'),
  mutant('U8', 'who is finished is forgotten at once', 'lagging', 'policy/admission.ts', 'if (this.#seenSince(id, sinceMs + settings.driftConfirmMs)) this.#begin(id, draft.entry(id), true);', 'this.#begin(id, draft.entry(id), true);'),
  mutant('U8', 'lists count at once after an upgrade', 'lagging', 'policy/standing.ts', "return ending?.kind !== 'updated' || row.seenAtMs >= ending.sinceMs + context.settings.graceMs;", 'return true;'),
  mutant('U9', 'sweeps follow each other', 'slow', 'policy/decide.ts', 'return completeSinceMs + Math.max(intervalMs, share * observation.listing.sweepCost().durationMs);', 'return completeSinceMs + Math.min(intervalMs, share);'),
  mutant('U10', 'the upgrades of others count as ours', 'foreign', 'policy/attempt.ts', ": reopen(refused, open, { state: 'adopted', ours: false, sinceMs: now.monotonicMs });", ": reopen(entry, open, { state: 'adopted', ours: true, sinceMs: now.monotonicMs });"),
  mutant('U11', 'who is not running is refused for good', 'silent', 'policy/attempt.ts', ": end('offline');", ": end('refused');"),
  mutant('U12', 'members are who the selector matches now', 'selected', 'policy/roster.ts', 'const member = row ? entry !== undefined || this.#matches(row.collector) : this.#isUnseenMember(entry);', 'const member = row ? this.#matches(row.collector) : this.#isUnseenMember(entry);'),
  mutant('U13', 'everybody owns everything', 'overlapping', 'policy/roster.ts', "return this.#options.ownership.owner(id)?.uid === this.#options.policy;", 'return id !== undefined;'),
  mutant('U13', 'what a deleted policy left is forgotten', 'remade', 'fleet/ownership.ts', 'if (!this.#claimants.delete(uid)) return;', 'if (!this.#claimants.delete(uid)) return;\n    for (const [id, flight] of this.#flights) if (flight.policy === uid) this.#flights.delete(id);'),
];
