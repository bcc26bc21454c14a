/**
 * Mutants (copies of the program with one rule broken) for the rules on commit records and limits. Simulated exports
 * must detect them.
 */
import { type Mutant, mutant } from '../mutant.ts';
import type { Mutation } from '../mutated-sources.ts';

const othersRows = 'rows:';

/** Makes logfleet accept a search job that returns fewer rows than it counted. */
export const fewerThanCounted: readonly Mutation[] = [
  {
    file: 'export/search/search-verdict.ts',
    find: "return sign === 'timeOver' ? received < jobCount : received !== jobCount;",
    replace: "return sign === 'timeOver' && received < jobCount;",
  },
  {
    file: 'destination/commit-record.ts',
    find: 'if (count.rows === received) return undefined;',
    replace: 'if (count.rows > 0) return undefined;',
  },
];

export const recordMutants: readonly Mutant[] = [
  mutant(
    'E4',
    'an aggregation of more messages than the limit counts as cut',
    'added',
    'export/search/message-limit.ts',
    "if (isLimitReached && results === 'Messages') return 'warning';\n  if (state !== 'doneGatheringResults') return 'timeOver';\n  if (results === 'Records') return undefined;",
    "if (isLimitReached) return 'warning';\n  if (state !== 'doneGatheringResults') return 'timeOver';",
    'end: incomplete for LimitReached',
  ),
  mutant(
    'E5',
    'errors of an aggregation are ignored',
    'addedErring',
    'export/search/search-verdict.ts',
    'if (pendingErrors.length > 0) {',
    'if (pendingErrors.length > 1_000) {',
    othersRows,
  ),
  mutant(
    'E5',
    'a lost status of an aggregation counts as a status without errors',
    'addedErringUnheard',
    'export/search/interval-search.ts',
    'hasLostStatus: end.isDone ? progress.hasLostStatus : job.progress.hasLostStatus,',
    'hasLostStatus: false,',
    othersRows,
  ),
  {
    rule: 'E6',
    name: 'pages may have fewer records than the job counts',
    directions: 'addedForgetful',
    shows: 'E6: [',
    mutations: fewerThanCounted,
  },
  {
    rule: 'E8',
    name: 'an aggregation is split into intervals',
    directions: 'added',
    mutations: [
      {
        file: 'export/search/export-definition.ts',
        find: 'const unsplittableReason = whyUnsplittable(identity);',
        replace: "const unsplittableReason = identity.results === 'Records' ? undefined : whyUnsplittable(identity);",
      },
      {
        file: 'export/plan/export-planning.ts',
        find: 'cutSign(progress, quirks.smallestLimit, definition.identity.results)',
        replace: "cutSign(progress, quirks.smallestLimit, 'Messages')",
      },
    ],
  },
  mutant(
    'E11',
    'an aggregation does not wait until its range is settled',
    'addedRecent',
    'export/search/settling.ts',
    'return settleDelayMs + clockBehindMs;',
    'return 0 * (settleDelayMs + clockBehindMs);',
  ),
  {
    rule: 'E13',
    name: 'a search counts as done when its histogram is done',
    directions: 'addedEarly',
    shows: 'E6: no search covers',
    mutations: [
      {
        file: 'service/jobs/search-job.ts',
        find: "return state === 'doneGatheringResults' || state === 'forcePaused';",
        replace: "return state !== 'notStarted' && state !== 'gatheringResults';",
      },
      {
        file: 'export/search/message-limit.ts',
        find: "if (state !== 'doneGatheringResults') return 'timeOver';",
        replace: '',
      },
    ],
  },
  mutant(
    'E13',
    'records of an unfinished aggregation are kept',
    'addedEndless',
    'export/search/search-verdict.ts',
    "const isKept = run.keepsIncomplete && !(run.sign === 'timeOver' && run.results === 'Records');",
    'const isKept = run.keepsIncomplete;',
  ),
];

export const limitMutants: readonly Mutant[] = [
  {
    rule: 'limits',
    name: 'the maximum number of rows is ignored',
    directions: 'bounded',
    mutations: [
      {
        file: 'export/work/export-decision.ts',
        find: 'written + found >= limits.maxMessages',
        replace: 'written + found < 0',
      },
      {
        file: 'export/work/export-decision.ts',
        find: 'if (maxMessages === undefined) return Number.POSITIVE_INFINITY;',
        replace: 'if (maxMessages !== 0) return Number.POSITIVE_INFINITY;',
      },
    ],
  },
  {
    rule: 'limits',
    name: 'rows that are searched again after a digest do not count towards the maximum',
    directions: 'digestedBounded',
    mutations: [
      {
        file: 'export/work/export-decision.ts',
        find: 'const written = writtenRows(intervals);',
        replace:
          'const written = writtenRows(intervals.filter(({ segment }) => segment < input.plan.boundariesMs.length - 1));',
      },
      {
        file: 'export/work/export-decision.ts',
        find: '    writtenRows(intervals),\n',
        replace: '    writtenRows(intervals.filter(({ segment }) => segment < input.plan.boundariesMs.length - 1)),\n',
      },
    ],
  },
  mutant(
    'limits',
    'the deadline is ignored',
    'bounded',
    'export/work/export-decision.ts',
    'return deadlineMs !== undefined && wallMs >= deadlineMs;',
    'return deadlineMs !== undefined && wallMs < 0;',
  ),
  mutant(
    'limits',
    'the maximum of scanned bytes is ignored',
    'scanned',
    'export/work/export-decision.ts',
    'return maxBytesScanned !== undefined && scanned >= maxBytesScanned;',
    'return maxBytesScanned !== undefined && scanned < 0;',
  ),
  mutant(
    'limits',
    'bytes scanned by ended searches do not count',
    'scanned',
    'export/work/running-searches.ts',
    'this.endedBytes += search.scannedBytes;',
    '',
  ),
  mutant(
    'limits',
    'running searches continue beyond the maximum of scanned bytes',
    'scannedAside',
    'export/work/export-decision.ts',
    'return search.isSearching && isScanLimitReached(limits, scannedBytes(input));',
    'return false;',
  ),
  mutant(
    'limits',
    'bytes scanned by counts do not count',
    'scannedAside',
    'export/search/job-set.ts',
    'if (this.#open.delete(job)) this.#scannedBytes += scannedBy(job);',
    'this.#open.delete(job);',
  ),
  mutant(
    'limits',
    'planning continues beyond the maximum of scanned bytes',
    'scannedEarly',
    'export/work/next-actions.ts',
    'return haltOf(limits, now.wallMs, endedBytes);',
    'return haltOf(limits, now.wallMs, -1);',
  ),
];
