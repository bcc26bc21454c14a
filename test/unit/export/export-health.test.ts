import { describe, expect, test } from 'vitest';
import { type Handling, LogfleetError } from '../../../src/base/errors.ts';
import { limitsOf } from '../../../src/export/resource/export-spec.ts';
import { type ExportHealthInput, exportHealth } from '../../../src/export/status/export-health.ts';
import { type ExportWording, resourceWording } from '../../../src/export/status/export-wording.ts';
import { exportOf, intervalOf, manifestOf, viewOf } from './sample-view.ts';

function error(kind: Handling['kind'], message = 'The store does not answer.'): LogfleetError {
  const handling = kind === 'retryAfter' ? { kind, delayMs: 1_000 } : ({ kind } as Handling);
  return new LogfleetError({ code: 'test.error', reason: 'Trouble', message, handling });
}

function input(more: Partial<ExportHealthInput> = {}, spec: object = {}): ExportHealthInput {
  const limits = limitsOf(exportOf({ limits: { maxMessages: 5_000 }, ...spec }), 0, false);
  return { pausedBy: undefined, problem: undefined, view: viewOf(), limits, wording: resourceWording, ...more };
}

type ExpectedHealth = readonly [ready: string, reason: string, others: string];

const order = { segment: 0, fromMs: 0, toMs: 100 };
const unproven = {
  order,
  reason: 'CountDiffers',
  message: 'the service counts 3 rows, but the search found 2',
  figures: undefined,
} as const;
const people = {
  kind: 'people',
  delays: [{ segment: 0, toMs: 100, untilMs: undefined, message: '' }],
  isRest: true,
} as const;
const byCount = intervalOf(100, 200, 5, { count: { rows: 5, source: 'Aggregate' } });
const bySearch = intervalOf(200, 300, 5);
const flagged = intervalOf(0, 100, 5, { incomplete: { reason: 'CountDiffers' } });

describe('the verdict', () => {
  test.each<[string, ExportHealthInput, ExpectedHealth]>([
    ['at work', input(), ['False', 'Exporting', 'Reconciling']],
    [
      'complete',
      input({ view: viewOf({ stage: 'complete', manifest: manifestOf(5, []) }) }),
      ['True', 'Exported', 'Complete'],
    ],
    [
      'complete although intervals are flagged',
      input({ view: viewOf({ stage: 'complete', manifest: manifestOf(5, [flagged]) }) }, { incompletePolicy: 'Keep' }),
      ['True', 'ExportedIncomplete', 'Complete'],
    ],
    [
      'not complete with a flagged interval if incomplete intervals must not be kept',
      input({ view: viewOf({ stage: 'complete', manifest: manifestOf(5, [flagged]) }) }),
      ['False', 'IntervalIncomplete', 'Stalled Failed'],
    ],
    [
      'complete even during a pause',
      input({ pausedBy: 'spec.paused', view: viewOf({ manifest: manifestOf(5, []) }) }),
      ['True', 'Exported', 'Complete'],
    ],
    ['paused', input({ pausedBy: 'spec.paused' }), ['Unknown', 'Paused', '']],
    ['paused before anything else is known', input({ pausedBy: 'x', view: undefined }), ['Unknown', 'Paused', '']],
    [
      'not paused if only the manifest is missing',
      input({ pausedBy: 'spec.paused', view: viewOf({ stage: 'finishing' }) }),
      ['False', 'Exporting', 'Reconciling'],
    ],
    [
      'hindered, even past its deadline',
      input({ problem: error('stall'), view: viewOf({ waitsFor: { kind: 'deadline' } }) }),
      ['False', 'Trouble', 'Stalled'],
    ],
    [
      'past its deadline, even while paused',
      input({ pausedBy: 'spec.paused', view: viewOf({ waitsFor: { kind: 'deadline' } }) }),
      ['False', 'DeadlineExceeded', 'Stalled Failed'],
    ],
    ['a problem of its Secret', input({ problem: error('stall') }), ['False', 'Trouble', 'Stalled']],
    ['a problem that passes', input({ problem: error('backoff') }), ['False', 'Trouble', 'Reconciling']],
    [
      'a refusal that is being tried again',
      input({ view: viewOf({ lastError: error('stall'), searches: 1 }) }),
      ['False', 'Trouble', 'Stalled'],
    ],
    [
      'a failure that may pass',
      input({ view: viewOf({ lastError: error('backoff') }) }),
      ['False', 'Exporting', 'Reconciling'],
    ],
    [
      'failures that continue',
      input({ view: viewOf({ lastError: error('backoff'), isTroubleLasting: true, searches: 1 }) }),
      ['False', 'Trouble', 'Reconciling'],
    ],
    ['no room', input({ view: viewOf({ lastError: error('wait') }) }), ['False', 'Trouble', 'Reconciling']],
    [
      'a contradiction at the destination',
      input({ view: viewOf({ waitsFor: { kind: 'disorder', strays: [intervalOf(0, 50, 1)] } }) }),
      ['False', 'DestinationDamaged', 'Stalled'],
    ],
    [
      'maxMessages is reached',
      input({ view: viewOf({ waitsFor: { kind: 'maxMessages' } }) }),
      ['False', 'MaxMessagesReached', 'Stalled Failed'],
    ],
    [
      'maxMessages is reached, and running searches are read to their end',
      input({ view: viewOf({ waitsFor: { kind: 'maxMessages' }, searches: 2 }) }),
      ['False', 'Exporting', 'Reconciling'],
    ],
    [
      'maxBytesScanned is reached',
      input({ view: viewOf({ waitsFor: { kind: 'maxBytesScanned' } }) }),
      ['False', 'MaxBytesScannedReached', 'Stalled Failed'],
    ],
    [
      'an interval that cannot be proven, with all others done',
      input({ view: viewOf({ waitsFor: people, unproven: [unproven] }) }),
      ['False', 'IntervalIncomplete', 'Stalled Failed'],
    ],
    [
      'an interval that cannot be proven, while others are too new',
      input({ view: viewOf({ waitsFor: { ...people, isRest: false }, unproven: [unproven] }) }),
      ['False', 'IntervalIncomplete', 'Stalled'],
    ],
    [
      'an interval that cannot be proven, while others continue',
      input({ view: viewOf({ unproven: [unproven], searches: 2 }) }),
      ['False', 'Exporting', 'Reconciling'],
    ],
    ['nothing known yet', input({ view: undefined }), ['False', 'Progressing', 'Reconciling']],
    [
      'reading',
      input({ view: viewOf({ stage: 'loading', progress: undefined }) }),
      ['False', 'Progressing', 'Reconciling'],
    ],
    [
      'planning',
      input({ view: viewOf({ stage: 'planning', progress: undefined }) }),
      ['False', 'Exporting', 'Reconciling'],
    ],
    [
      'too new, even before a plan',
      input({ view: viewOf({ stage: 'planning', waitsFor: { kind: 'settling', untilMs: 0 } }) }),
      ['False', 'WaitingToSettle', 'Reconciling'],
    ],
  ])('%s', (_, given, expected) => {
    const health = exportHealth(given);
    const others = {
      Reconciling: health.reconciling,
      Stalled: health.stalled,
      Complete: health.isComplete,
      Failed: health.isFailed,
    };
    const present = Object.entries(others).flatMap(([type, on]) => (on ? [type] : []));
    expect([health.ready, health.reason, present.join(' ')]).toEqual(expected);
  });
});

describe('the message', () => {
  test.each([
    ['file:///my%20disk/logging/audit/abc', '/my disk/logging/audit/abc/manifest.json'],
    ['s3://logs/logging/audit/abc', 's3://logs/logging/audit/abc/manifest.json'],
  ])('names files with their full location, in %s', (location, expected) => {
    const lastError = error('stall', 'audit/abc/x is missing; remove audit/abc/manifest.json; /y/audit/abc/z is full');
    const { message } = exportHealth(input({ view: viewOf({ lastError, location }) }));
    expect(message).toContain(`remove ${expected}; /y/audit/abc/z is full`);
    expect(message).toMatch(/\/audit\/abc\/x is missing/);
  });

  test.each<[ExportHealthInput, string]>([
    [input(), '42% of the export is done; 1.2M rows have been written.'],
    [
      input({ view: viewOf({ searches: 4 }) }),
      '42% of the export is done; 1.2M rows have been written; 4 searches are running.',
    ],
    [
      input({ view: viewOf({ searches: 4, waitingSearches: 1 }) }),
      '42% of the export is done; 1.2M rows have been written; 4 searches are running.',
    ],
    [
      input({ view: viewOf({ searches: 2, waitingSearches: 2 }) }),
      '42% of the export is done; 1.2M rows have been written; 2 searches are waiting for a free search-job slot, because all exports of one user share the slots that the service allows.',
    ],
    [
      input({ view: viewOf({ undescribedFields: ['a', 'b', 'c', 'd'] }) }),
      '42% of the export is done; 1.2M rows have been written; so far, the search results do not contain "a", "b", "c" and 1 more of spec.output.fields.',
    ],
    [
      input({ view: viewOf({ waitsFor: { kind: 'trouble' }, trouble: { error: error('backoff'), untilMs: 5 } }) }),
      '42% of the export is done; 1.2M rows have been written; logfleet will soon retry after this failure: The store does not answer.',
    ],
    [
      input({
        view: viewOf({ waitsFor: { kind: 'retry', delays: [{ ...order, untilMs: 7, message: 'A count differs.' }] } }),
      }),
      '42% of the export is done; 1.2M rows have been written; logfleet will soon retry after this failure: A count differs.',
    ],
    [
      input({ view: viewOf({ waitsFor: { kind: 'maxMessages' }, searches: 1 }) }),
      '42% of the export is done; 1.2M rows have been written; 1 search is running; no more searches start, because the limit spec.limits.maxMessages has been reached.',
    ],
    [
      input({ pausedBy: 'spec.paused', view: viewOf({ searches: 1 }) }),
      'Paused by spec.paused: no new searches start. 1 running search will run to completion.',
    ],
    [
      input({ view: viewOf({ waitsFor: { kind: 'maxMessages' } }) }),
      'The limit spec.limits.maxMessages (5,000) has been reached, so no more searches will start. 1,234,567 rows have been written and are kept. Raise spec.limits.maxMessages to continue.',
    ],
    [
      input({
        view: viewOf({ waitsFor: people, unproven: [unproven, { ...unproven, order: { ...order, toMs: 50 } }] }),
      }),
      'logfleet cannot prove that no row is missing: from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.100Z, the service counts 3 rows, but the search found 2; and 1 more interval (see status.incomplete). Set spec.incompletePolicy to Keep to write the rows that were found and mark the interval as incomplete, or set the annotation logfleet.dev/requestedAt to search again.',
    ],
    [
      input({ view: viewOf({ waitsFor: people, unproven: [{ ...unproven, reason: 'DigestDiffers' }] }) }),
      'logfleet cannot prove that no row is missing: from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.100Z, the service counts 3 rows, but the search found 2. Set spec.incompletePolicy to Keep to write the rows that were found and mark the interval as incomplete, or set the annotation logfleet.dev/requestedAt to search again.',
    ],
    [
      input({ view: viewOf({ waitsFor: people, unproven: [{ ...unproven, reason: 'PendingErrors' }] }) }),
      'logfleet cannot prove that no row is missing: from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.100Z, the service counts 3 rows, but the search found 2. Correct the query in another SearchExport, or set the annotation logfleet.dev/requestedAt to search again.',
    ],
    [
      input(
        { view: viewOf({ waitsFor: people, unproven: [{ ...unproven, reason: 'PendingErrors' }] }) },
        { incompletePolicy: 'Keep' },
      ),
      'logfleet cannot prove that no row is missing: from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.100Z, the service counts 3 rows, but the search found 2. Correct the query in another SearchExport, or set the annotation logfleet.dev/requestedAt to search again. spec.incompletePolicy does not apply to a search that reported errors.',
    ],
    [
      input({ view: viewOf({ waitsFor: people, unproven: [{ ...unproven, reason: 'LimitReached' }] }) }),
      'logfleet cannot prove that no row is missing: from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.100Z, the service counts 3 rows, but the search found 2. Set spec.incompletePolicy to Keep to write the rows that were found and mark the interval as incomplete, or export a smaller range in another SearchExport.',
    ],
    [
      input({ view: viewOf({ waitsFor: people, unproven: [{ ...unproven, reason: 'TimeOver' }] }) }),
      'logfleet cannot prove that no row is missing: from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.100Z, the service counts 3 rows, but the search found 2. Export a smaller range in another SearchExport.',
    ],
    [
      input({ view: viewOf({ unproven: [unproven], searches: 2 }) }),
      '42% of the export is done; 1.2M rows have been written; 2 searches are running; 1 interval could not be proven complete.',
    ],
    [
      input({ view: viewOf({ stage: 'complete', manifest: manifestOf(1, []) }) }),
      '1 row is in 3 files, and the manifest proves by digests that no row is missing.',
    ],
    [
      input({ view: viewOf({ stage: 'complete', manifest: manifestOf(1, []), lockedFiles: 2 }) }),
      '1 row is in 3 files, and the manifest proves by digests that no row is missing. The store keeps 2 unneeded files until their retention ends. If they are still in data/ afterwards, set the annotation logfleet.dev/requestedAt to remove them.',
    ],
    [
      input({ view: viewOf({ stage: 'complete', manifest: manifestOf(1, [byCount, bySearch]) }) }),
      '1 row is in 3 files, as many rows as the searches reported.',
    ],
    [
      input({ view: viewOf({ stage: 'complete', manifest: manifestOf(1, [byCount]) }) }),
      '1 row is in 3 files, and the manifest proves by counts that no row is missing.',
    ],
    [
      input(
        { view: viewOf({ stage: 'complete', manifest: manifestOf(1_500, [flagged]) }) },
        { incompletePolicy: 'Keep' },
      ),
      '1,500 rows are in 3 files; the manifest flags 1 interval as incomplete (see status.incomplete).',
    ],
    [
      input({ view: viewOf({ stage: 'complete', manifest: manifestOf(1_500, [flagged]) }) }),
      '1,500 rows are in 3 files; the manifest flags 1 interval as incomplete (see status.incomplete), and spec.incompletePolicy is set to Fail. Set spec.incompletePolicy to Keep to accept incomplete intervals, or move the folder file:///exports/logging/audit/abc away and set the annotation logfleet.dev/requestedAt to start the export again.',
    ],
    [
      input({ view: viewOf({ waitsFor: { kind: 'settling', untilMs: 0 }, clockBehindMs: 3_661_500 }) }),
      "The rest of the time range is not yet older than spec.settleDelay, so rows may still be arriving. The next search will start at 1970-01-01T00:00:00.000Z. The service's clock is 1h1m1s behind, and logfleet measures the age of rows by that clock.",
    ],
    [
      input({ view: viewOf({ waitsFor: { kind: 'settling', untilMs: 0 }, clockBehindMs: 1_500 }) }),
      'The rest of the time range is not yet older than spec.settleDelay, so rows may still be arriving. The next search will start at 1970-01-01T00:00:00.000Z.',
    ],
  ])('case %# is a complete sentence', (given, expected) => {
    expect(exportHealth(given).message).toBe(expected);
  });
});

describe('the wording of an export by the command line', () => {
  const flagNames: Readonly<Record<string, string>> = {
    activeDeadlineSeconds: '--active-deadline-seconds',
    incompletePolicy: '--incomplete-policy',
    'limits.maxMessages': '--max-messages',
  };
  const byManifest: ExportWording = { ...resourceWording, startedAs: 'process' };
  const byFlags: ExportWording = { ...byManifest, fieldName: (field) => flagNames[field] ?? field };
  const toStdout: ExportWording = { ...byFlags, rowsGoTo: 'stdout' };
  const over = viewOf({ waitsFor: { kind: 'deadline' }, progress: undefined });
  const limited = viewOf({ waitsFor: { kind: 'maxMessages' } });
  const open = viewOf({ waitsFor: people, unproven: [unproven] });
  const complete = viewOf({ stage: 'complete', manifest: manifestOf(5, []) });
  const kept = viewOf({ stage: 'complete', manifest: manifestOf(5, [flagged]) });
  const keep = { incompletePolicy: 'Keep' };

  test.each<[string, ExportHealthInput, string]>([
    [
      'a manifest: deadline',
      input({ wording: byManifest, view: over }),
      'The deadline (spec.activeDeadlineSeconds) has passed, so no more searches will start. Run the export again to continue.',
    ],
    [
      'a manifest: incomplete intervals',
      input({ wording: byManifest, view: kept }, keep),
      '5 rows are in 3 files; the manifest flags 1 interval as incomplete (listed below).',
    ],
    [
      'flags: deadline',
      input({ wording: byFlags, view: over }),
      'The deadline (--active-deadline-seconds) has passed, so no more searches will start. Run the export again to continue.',
    ],
    [
      'flags: limit',
      input({ wording: byFlags, view: limited }),
      'The limit --max-messages (5,000) has been reached, so no more searches will start. 1,234,567 rows have been written and are kept. Raise --max-messages to continue.',
    ],
    [
      'flags: rows that cannot be proven',
      input({ wording: byFlags, view: open }),
      'logfleet cannot prove that no row is missing: from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.100Z, the service counts 3 rows, but the search found 2. Set --incomplete-policy to Keep to write the rows that were found and mark the interval as incomplete, or run the export again to search again.',
    ],
    [
      'stdout: limit',
      input({ wording: toStdout, view: limited }),
      'The limit --max-messages (5,000) has been reached, so no more searches will start. No rows have been written to stdout yet, because logfleet first checks that no row is missing. Raise --max-messages to start the export again.',
    ],
    [
      'stdout: complete',
      input({ wording: toStdout, view: complete }),
      '5 rows go to stdout, and digests prove that no row is missing.',
    ],
    [
      'stdout: counts of the searches',
      input({ wording: toStdout, view: viewOf({ stage: 'complete', manifest: manifestOf(5, [bySearch]) }) }),
      '5 rows go to stdout, as many rows as the searches reported.',
    ],
    [
      'stdout: incomplete intervals',
      input({ wording: toStdout, view: kept }, keep),
      '5 rows go to stdout, with 1 interval incomplete (listed below).',
    ],
  ])('%s', (_, given, expected) => {
    expect(exportHealth(given).message).toBe(expected);
  });

  test('does not advise to write another SearchExport', () => {
    const lastError = new LogfleetError({
      ...{ code: 'service.parse.error', reason: 'QueryRefused', handling: { kind: 'stall' } },
      message: 'the service answered 400; correct the query',
    });
    const messages = [resourceWording, byManifest].map(
      (wording) => exportHealth(input({ wording, view: viewOf({ lastError }) })).message,
    );
    expect(messages).toEqual([
      'the service answered 400; correct the query. The settings that must be corrected cannot be changed in an existing SearchExport: create a new one with a different name.',
      'the service answered 400; correct the query',
    ]);
  });
});
