/**
 * Mutants of the rules of exports: each breaks one by changing one expression of one file, to show that the oracles would see it.
 * A mutation whose text is not found exactly once fails loudly, so that none is lost when the code changes.
 */
import type { Mutation } from '../mutated-sources.ts';

export interface ExportMutant {
  readonly rule: string;
  readonly name: string;
  /** Histories that lead to where the rule decides. */
  readonly directions: string;
  readonly mutations: readonly Mutation[];
}

function mutant(
  rule: string,
  name: string,
  directions: string,
  file: string,
  find: string,
  replace: string,
): ExportMutant {
  return { rule, name, directions, mutations: [{ file, find, replace }] };
}

export const exportMutants: readonly ExportMutant[] = [
  mutant(
    'E2',
    'everybody goes by a plan of their own',
    'racedLate',
    'destination/plan-object.ts',
    "if ((await destination.create(layout.plan, encodePlan(ours))) === 'created') return ours;",
    'await destination.create(layout.plan, encodePlan(ours));\n  if (ours) return ours;',
  ),
  mutant(
    'E3',
    'who comes second counts as first',
    'racedLate',
    'destination/commit-record.ts',
    "if ((await destination.create(name, content)) === 'created') return { kind: 'committed' };",
    "await destination.create(name, content);\n  if (name) return { kind: 'committed' };",
  ),
  mutant(
    'E3',
    'files are given up that a record may name',
    'killed',
    'export/interval-search.ts',
    "return outcome.kind === 'committed' ? { kind: 'committed', record } : outcome;",
    "await staging.giveUp();\n    return outcome.kind === 'committed' ? { kind: 'committed', record } : outcome;",
  ),
  mutant(
    'E4',
    'a cut commits its oldest millisecond, and searches behind it',
    'crowded',
    'export/cut.ts',
    "{ kind: 'at', atMs: oldestMs + 1 };",
    "{ kind: 'at', atMs: oldestMs };",
  ),
  mutant(
    'E4',
    'what was cut without a word is taken for whole',
    'silent',
    'export/cut.ts',
    'if (smallestLimit !== undefined && messageCount >= smallestLimit)',
    'if (smallestLimit !== undefined && messageCount > 1_000_000)',
  ),
  mutant(
    'E4',
    'a round count says nothing',
    'round',
    'export/cut.ts',
    'return messageCount >= leastRound && messageCount % roundStep === 0;',
    'return messageCount >= 1_000 * leastRound && messageCount % roundStep === 0;',
  ),
  mutant(
    'E4',
    'a search that is paused counts as done',
    'cut',
    'export/cut.ts',
    "if (state === 'forcePaused') return 'forcePaused';\n  if (isLimitReached) return 'warning';\n  if (state !== 'doneGatheringResults') return 'timeOver';\n  if (smallestLimit !== undefined && messageCount >= smallestLimit) return 'smallestLimit';",
    '',
  ),
  mutant(
    'E4',
    'a warning is overheard',
    'warned',
    'service/job-gathering.ts',
    "isLimitReached: this.#isLimitWarned || this.#state === 'forcePaused',",
    "isLimitReached: this.#state === 'forcePaused',",
  ),
  mutant(
    'E5',
    'errors are overheard',
    'erring',
    'export/proof.ts',
    'if (pendingErrors.length > 0) {',
    'if (pendingErrors.length > 1_000) {',
  ),
  mutant(
    'E5',
    'a status that was lost had nothing to say',
    'erringUnheard',
    'export/interval-search.ts',
    'isTainted: end.isDone ? progress.isTainted : job.progress.isTainted,',
    'isTainted: false,',
  ),
  {
    rule: 'E6',
    name: 'a cut interval is whole whatever is counted',
    directions: 'holed',
    mutations: [
      {
        file: 'export/proof.ts',
        find: 'const differs = counted === undefined || !isAsCounted(run, figures, counted.rows);',
        replace: 'const differs = counted === undefined;',
      },
      {
        file: 'destination/commit-record.ts',
        find: 'if (count.rows >= written && count.rows <= written + duplicates) return undefined;',
        replace: 'if (count.rows + duplicates >= 0) return undefined;',
      },
    ],
  },
  {
    rule: 'E6',
    name: 'pages may have fewer rows than the job counts',
    directions: 'forgetful',
    mutations: [
      {
        file: 'export/proof.ts',
        find: "return sign === 'timeOver' ? received < jobCount : received !== jobCount;",
        replace: "return sign === 'timeOver' && received < jobCount;",
      },
      {
        file: 'destination/commit-record.ts',
        find: 'if (count.rows === received) return undefined;',
        replace: 'if (count.rows > 0) return undefined;',
      },
    ],
  },
  {
    rule: 'E7',
    name: 'what is read early stays as it was, and rows that came again or out of order say nothing',
    directions: 'shifting',
    mutations: [
      {
        file: 'export/proof.ts',
        find: 'if (run.isReadEarly && hasShifted(run, figures)) return readingOf(run, false);',
        replace: '',
      },
      {
        file: 'export/proof.ts',
        find: "if (run.results === 'Messages' && !figures.areDuplicatesSure) return readingOf(run, true);",
        replace: '',
      },
      {
        file: 'export/proof.ts',
        find: 'if (!isTainted && figures.duplicates > 0 && !isReadTwice) return readingOf(run, figures.isDisordered);',
        replace: 'if (isReadTwice && figures.written < 0) return readingOf(run, false);',
      },
    ],
  },
  mutant(
    'E8',
    'every query is split',
    'limited',
    'api/splittable.ts',
    'return reason === undefined ? { isSplittable: true } : { isSplittable: false, reason };',
    "return reason !== '' ? { isSplittable: true } : { isSplittable: false, reason };",
  ),
  mutant(
    'E9',
    'what comes again is written again',
    'doubled',
    'export/run-tally.ts',
    'if (duplicates.comesAgain(row)) {',
    'if (duplicates.comesAgain(row) && this.#received < 0) {',
  ),
  mutant(
    'E9',
    'an id is enough for a duplicate',
    'sharedIds',
    'export/duplicates.ts',
    'if (all.some((kept) => this.#isSame(kept, bytes))) return true;',
    'if (all.length > 0) return true;',
  ),
  mutant(
    'E10',
    'what lies at the very end is written, too',
    'inclusive',
    'export/run-tally.ts',
    'if (timeMs < interval.fromMs || timeMs >= interval.toMs) {',
    'if (timeMs < interval.fromMs || timeMs > interval.toMs) {',
  ),
  mutant(
    'E10',
    'nothing shows that ends are inclusive',
    'inclusive',
    'export/proof.ts',
    "return results === 'Messages' && !isEndMoved && figures !== undefined && figures.atEnd > 0;",
    "return results === 'Messages' && !isEndMoved && figures !== undefined && figures.atEnd < 0;",
  ),
  mutant(
    'E11',
    'nobody waits until a range has settled',
    'recent',
    'export/settling.ts',
    'return settleDelayMs + clockBehindMs;',
    'return 0 * (settleDelayMs + clockBehindMs);',
  ),
  mutant(
    'E11',
    'who goes on with a plan believes the own clock',
    'recentTaken',
    'export/interval-search.ts',
    'if (!this.#start.opened && !this.#isSettled(job)) return this.#again(false, tooNew);',
    '',
  ),
  mutant(
    'E13',
    'a search goes on until the service ends it',
    'endless',
    'export/export-work.ts',
    'for (const search of decision.endAsCut) (search as Search).endAsCut();',
    '',
  ),
  mutant(
    'E15',
    'uploads that were broken off stay',
    'littered',
    'destination/manifest.ts',
    "let removed = await destination.abortLeftovers(layout.folder, 'all');",
    'let removed = 0;',
  ),
  mutant(
    'E15',
    'files that no record names stay',
    'killed',
    'destination/manifest.ts',
    'for (const name of strays) await destination.remove(name);',
    '',
  ),
];
