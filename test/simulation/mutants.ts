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
  {
    rule: 'U2',
    name: 'what is posted is not written ahead',
    directions: 'killed',
    mutations: [
      {
        file: 'policy/kept-ledger.ts',
        find: 'await this.#file.save(ledger, changes);',
        replace:
          "if (!changes.some(({ entry }) => entry?.open?.state === 'intended')) await this.#file.save(ledger, changes);",
      },
      // Status would tell of most of them.
      {
        file: 'policy/adoption.ts',
        find: 'const changes: EntryChange[] = [];',
        replace: 'const changes: EntryChange[] = [];\n  if (nowMs >= 0) return changes;',
      },
    ],
  },
  mutant(
    'U2',
    'nobody asks again before the write',
    'paused',
    'policy/posting.ts',
    'if (!stillWanted(entry, generation))',
    'if (false)',
  ),
  {
    rule: 'U2',
    name: 'who slept posts on',
    directions: 'frozen',
    mutations: [
      { file: 'policy/posting.ts', find: 'if (!stillWanted(entry, generation))', replace: 'if (false)' },
      {
        file: 'policy/posting.ts',
        find: 'const lifeMs = Math.max(0, decidedAtMs + settings.intentLifeMs - clock.monotonic());',
        replace: 'const lifeMs = 1_000_000 * settings.intentLifeMs + decidedAtMs;',
      },
    ],
  },
  mutant(
    'U3',
    'a lost answer counts as not sent',
    'lost',
    'policy/posting.ts',
    "return error.effect === 'unknown' ? { kind: 'unknown', message: error.message } : { kind: 'notSent' };",
    "return { kind: 'notSent' };",
  ),
  mutant(
    'U3',
    'probes wait for no grace',
    'lost',
    'policy/attempt.ts',
    'return Math.max(attempt.sinceMs, attempt.probedAtMs ?? 0) + settings.graceMs;',
    'return Math.max(attempt.sinceMs, attempt.probedAtMs ?? 0);',
  ),
  mutant(
    'U3',
    'what was heard is forgotten with a ledger that could not be written',
    'unwritten',
    'policy/policy-runtime.ts',
    'tasks.forgetAll();',
    'tasks.forgetAll();\n    this.#parts.posting.acknowledge(this.#parts.posting.heard);',
  ),
  mutant(
    'U4',
    'any task is believed',
    'mixedUp',
    'policy/attempt.ts',
    'if (!isTaskOf(open, entry.collectorId, task)) return undefined;',
    '',
  ),
  mutant(
    'U5',
    'attempts may stay open',
    'endless',
    'policy/attempt.ts',
    'if (now.monotonicMs < limitMs) return entry;',
    'if (now.monotonicMs >= 0) return entry;',
  ),
  mutant(
    'U6',
    'retries do not look first',
    'late',
    'policy/start-rules.ts',
    'const sentAfterMs = candidate.ending.sinceMs + line.settings.graceMs;',
    'const sentAfterMs = 0 * line.settings.graceMs;',
  ),
  mutant(
    'U7',
    'every version is taken for visible',
    'single',
    'fleet/view.ts',
    'return this.builds.some((build) => build !== version);',
    'return version !== undefined;',
  ),
  mutant(
    'U8',
    'one listing is enough for drift',
    'drifting',
    'policy/start-rules.ts',
    'const sentAfterMs = candidate.sinceMs + line.settings.driftConfirmMs;',
    'const sentAfterMs = 0 * line.settings.driftConfirmMs;',
  ),
  {
    rule: 'U8',
    name: 'a list that lags undoes what was done',
    directions: 'lagging',
    mutations: [
      {
        file: 'policy/start-rules.ts',
        find: 'const sentAfterMs = candidate.sinceMs + line.settings.driftConfirmMs;',
        replace: 'const sentAfterMs = 0 * line.settings.driftConfirmMs;',
      },
      {
        file: 'policy/standing.ts',
        find: "return ending?.kind !== 'updated' || row.seenAtMs >= ending.sinceMs + context.settings.graceMs;",
        replace: 'return true;',
      },
      {
        file: 'policy/row-notes.ts',
        find: "const after = ending?.kind === 'updated' ? ending.sinceMs + settings.graceMs : 0;",
        replace: 'const after = 0;',
      },
    ],
  },
  mutant(
    'U9',
    'sweeps follow each other',
    'slow',
    'fleet/fleet-listing.ts',
    'if (this.#completeSinceMs !== undefined && this.#completeSinceMs >= sentAfterMs) return;',
    '',
  ),
  mutant(
    'U10',
    'the upgrades of others count as ours',
    'foreign',
    'policy/attempt.ts',
    ": reopen(refused, open, { state: 'adopted', ours: false, sinceMs: now.monotonicMs });",
    ": reopen(entry, open, { state: 'adopted', ours: true, sinceMs: now.monotonicMs });",
  ),
  mutant(
    'U11',
    'who is not running is refused for good',
    'silent',
    'policy/attempt.ts',
    ": end('offline');",
    ": end('refused');",
  ),
  mutant(
    'U12',
    'members are who the selector matches now',
    'selected',
    'policy/roster.ts',
    'if (before || !this.isReselected) return before?.selected ?? true;',
    'if (before || !this.isReselected) return false;',
  ),
  mutant(
    'U13',
    'everybody owns everything',
    'overlapping',
    'policy/roster.ts',
    'return this.#options.ownership.owner(id)?.uid === this.#options.policy;',
    'return id !== undefined;',
  ),
  mutant(
    'U13',
    'nobody waits for who was in trouble until just now',
    'refused',
    'policy/claim-turns.ts',
    'if (!this.#troubled.delete(uid)) return;',
    'if (uid.length > 0) return;',
  ),
  mutant(
    'U13',
    'what a deleted policy left is forgotten',
    'remade',
    'fleet/ownership.ts',
    'if (!this.#claimants.delete(uid)) return;',
    'if (!this.#claimants.delete(uid)) return;\n    for (const [id, flight] of this.#flights) if (flight.policy === uid) this.#flights.delete(id);',
  ),
  mutant(
    'U1',
    'what was stopped goes on with a ledger that was put back',
    'restored',
    'policy/adoption.ts',
    'if (!stopped || stop) return undefined;',
    'if (stopped || !stop) return undefined;',
  ),
  mutant(
    'U2',
    'a window that has closed since stops nothing that is on its way',
    'excluded',
    'policy/policy-runtime.ts',
    'this.#isWindowOpen(newest, bound, collectorId) &&',
    '',
  ),
  mutant(
    'U2',
    'the kill switch stops nothing that is on its way',
    'killSwitch',
    'policy/policy-runtime.ts',
    '!host.settings().paused &&',
    '',
  ),
  mutant(
    'U2',
    'a failure that was just heard of stops nothing that is on its way',
    'failingUnwritten',
    'policy/policy-runtime.ts',
    '!tasks.hasFailures &&',
    '',
  ),
  mutant(
    'U14',
    'whatever it was, it goes back to the oldest',
    'takenBack',
    'policy/admission.ts',
    'const before = roster.row(id)?.collector.collectorVersion || undefined;',
    "const before = roster.row(id) ? '19.100-1' : undefined;",
  ),
  mutant(
    'windows',
    'all zones are one',
    'windows',
    'policy/maintenance-calendar.ts',
    "const key = this.byCollector ? (zone ?? '') : '';",
    "const key = zone === '' ? zone : 'America/New_York';",
  ),
  mutant(
    'windows',
    'nobody cuts off',
    'windows',
    'policy/maintenance-calendar.ts',
    'this.#cutoffMs = cutoffMs ?? 0;',
    'this.#cutoffMs = 0 * (cutoffMs ?? 0);',
  ),
  {
    rule: 'stages',
    name: 'all stages begin at once',
    directions: 'staged',
    mutations: [
      {
        file: 'policy/stage-progress.ts',
        find: 'const reached = step.isAwaited ? index - 1 : index;',
        replace: 'const reached = Number.POSITIVE_INFINITY;',
      },
    ],
  },
  mutant(
    'stages',
    'sizes do not count',
    'staged',
    'policy/stages.ts',
    'let left = size === undefined ? Number.POSITIVE_INFINITY : shareOf(size, candidates.length);',
    'let left = size === undefined ? Number.POSITIVE_INFINITY : 1 + shareOf(size, candidates.length);',
  ),
  mutant(
    'soak',
    'nobody soaks',
    'staged',
    'policy/stage-progress.ts',
    'const soakMs = isUnwatched ? 0 : soakMsOf(stage);',
    'const soakMs = 0 * tally.finished;',
  ),
  mutant(
    'soak',
    'deaths are not seen',
    'dying',
    'policy/settlement.ts',
    "for (const id of roster.silent) fell(id, 'died', 'fell silent within the soak of its stage');",
    '',
  ),
  mutant(
    'approval',
    'nobody is asked',
    'staged',
    'policy/stage-progress.ts',
    "approval === 'Required' && !approved?.includes(name)",
    "approval === 'Required' && approved?.includes(name)",
  ),
  mutant(
    'failures',
    'numbers are not judged',
    'failing',
    'policy/failure-verdict.ts',
    'if (failed <= most) return undefined;',
    'if (failed >= 0) return undefined;',
  ),
  mutant(
    'failures',
    'one more than the number is tolerated',
    'failing',
    'policy/failure-verdict.ts',
    'if (failed <= most) return undefined;',
    'if (failed <= most + 1) return undefined;',
  ),
  mutant(
    'failures',
    'percentages are not judged',
    'failingShare',
    'policy/failure-verdict.ts',
    'const isJudged = finished >= minSamples || outstanding === 0;',
    'const isJudged = minSamples < 0;',
  ),
  mutant(
    'failures',
    'stages are not judged',
    'failingStage',
    'policy/rollout-course.ts',
    'if (ended) continue;',
    'if (ended || index >= 0) continue;',
  ),
];
