import { describe, expect, test } from 'vitest';
import { exportDefinition, withOperators } from '../../../src/export/search/export-definition.ts';
import { QuirksOfServices, ServiceQuirks } from '../../../src/export/search/service-quirks.ts';
import type { JobProgress } from '../../../src/service/jobs/job-gathering.ts';
import { definitionOf, exportRequest, plainOutput } from '../../support/export-definition.ts';
import { hour } from './search-world.ts';

describe('a definition of an export', () => {
  test('sends the settings of the manifest and its time zone with each job (E12)', () => {
    const timeRange = { from: '2026-10-25T02:30:00', to: '2026-10-26T00:00:00', timeZone: 'Europe/Berlin' };
    const definition = definitionOf({ timeRange, autoParsingMode: 'AutoParse', byReceiptTime: true });
    expect(definition.order({ fromMs: 5, toMs: 10 }, false)).toEqual({
      ...{ query: '*', fromMs: 5, toMs: 10, timeZone: 'Europe/Berlin' },
      ...{ byReceiptTime: true, autoParsingMode: 'AutoParse', requiresRawMessages: true },
    });
    // The clocks go back, so the local time of the export's start occurs twice. The first occurrence is used.
    expect(new Date(definition.identity.fromMs).toISOString()).toBe('2026-10-25T00:30:00.000Z');
    expect(definitionOf().order(hour, false).timeZone).toBe('UTC');
  });

  test('sends an earlier end to a service that treats ends as inclusive (E10)', () => {
    expect(definitionOf().order({ fromMs: 5, toMs: 6 }, true)).toMatchObject({ fromMs: 5, toMs: 5 });
  });

  test('requests raw messages for messages, unless the manifest says otherwise', () => {
    expect(definitionOf().identity.requiresRawMessages).toBe(true);
    expect(definitionOf({ results: 'Records' }).identity.requiresRawMessages).toBe(false);
    expect(definitionOf({ requiresRawMessages: false }).identity.requiresRawMessages).toBe(false);
  });

  test.each([
    ['Gzip', undefined, { kind: 'gzip', level: 5 }],
    ['Gzip', 1, { kind: 'gzip', level: 1 }],
    ['Zstd', undefined, { kind: 'zstd', level: 3 }],
    ['Zstd', 19, { kind: 'zstd', level: 19 }],
    ['None', undefined, { kind: 'none' }],
  ] as const)('compresses files with %s of the level %s', (compression, compressionLevel, expected) => {
    const level = compressionLevel === undefined ? {} : { compressionLevel };
    const definition = definitionOf({ output: { ...plainOutput, compression, ...level } });
    expect(definition.form([]).compression).toEqual(expected);
  });

  test('has a separate folder for each service and each range (E1)', () => {
    const folders = [
      definitionOf(),
      definitionOf({ name: 'other' }),
      definitionOf({ timeRange: { from: `${hour.fromMs}`, to: `${hour.toMs}`, timeZone: 'Europe/Berlin' } }),
    ].map(({ layout }) => layout.folder);
    const elsewhere = exportDefinition(exportRequest(), 'other.test');
    if ('problem' in elsewhere) throw new Error(elsewhere.problem);
    expect(new Set([...folders, elsewhere.layout.folder]).size).toBe(4);
    expect(folders[0]).toMatch(/^audit\/[0-9a-f]{64}$/);
  });

  test('is split if the query works row by row, and never for records (E8)', () => {
    expect(definitionOf({ query: 'error | where status > 499' }).isSplittable).toBe(true);
    expect(definitionOf({ query: 'error | limit 10' })).toMatchObject({ isSplittable: false });
    expect(definitionOf({ query: 'error | limit 10' }).unsplittableReason).toContain('limit');
    expect(definitionOf({ results: 'Records' }).isSplittable).toBe(false);
  });

  test('is invalid without a valid range', () => {
    const timeRange = { from: '2026-10-25T02:30:00', to: '2026-10-26T00:00:00' };
    expect(exportDefinition(exportRequest({ timeRange }), 'service.test')).toMatchObject({
      member: 'timeRange.timeZone',
    });
  });

  test('is invalid for messages whose time or id the query overwrites (E9)', () => {
    const query = '* | parse "id=*" as _messageId';
    expect(exportDefinition(exportRequest({ query }), 'service.test')).toMatchObject({ member: 'query' });
    expect(definitionOf({ query: `${query} | count by _messageId`, results: 'Records' }).isSplittable).toBe(false);
  });

  test.each([
    ['NDJSON', 'None', 'none'],
    ['NDJSON', 'Gzip', 'gzip'],
    ['CSV', 'Zstd', 'zstd'],
    ['Parquet', 'Zstd', 'none'],
  ] as const)('of %s and %s packs files by %s', (format, compression, kind) => {
    const output = { ...plainOutput, format, compression };
    expect(definitionOf({ output }).form([]).compression.kind).toBe(kind);
  });

  test('appends operators after the end of a comment', () => {
    const order = definitionOf({ query: 'error // all of them' }).order(hour, false);
    expect(withOperators(order, 'count').query).toBe('error // all of them\n| count');
  });
});

describe('the observed quirks of a service', () => {
  const progress = (messageCount: number, isLimitReached: boolean) =>
    ({ state: 'doneGatheringResults', messageCount, isLimitReached }) as JobProgress;

  test('include its smallest limit (E4)', () => {
    const quirks = new ServiceQuirks();
    quirks.searched(progress(90, false));
    expect(quirks.smallestLimit).toBeUndefined();
    for (const count of [200, 100, 300]) quirks.searched(progress(count, true));
    expect(quirks.smallestLimit).toBe(100);
  });

  test('include the duration of searches: a status that came too early shows it, others only reduce it', () => {
    const quirks = new ServiceQuirks();
    expect(quirks.searchMs).toBeUndefined();
    quirks.took(10_000, 2);
    expect(quirks.searchMs).toBe(10_000);
    quirks.took(2_000, 1);
    expect(quirks.searchMs).toBe(9_900);
    for (let time = 0; time < 100; time++) quirks.took(5_000, 1);
    expect(quirks.searchMs).toBeLessThan(5_000);
    quirks.took(6_000, 3);
    expect(quirks.searchMs).toBe(6_000);
  });

  test('are learned by one search; concurrent searches wait for its end, even if it fails', async () => {
    const quirks = new ServiceQuirks();
    const first = quirks.begins();
    expect([first.expectedMs, first.shown]).toEqual([undefined, undefined]);
    const beside = quirks.begins();
    expect(beside.expectedMs).toBe(Number.POSITIVE_INFINITY);
    first.ends();
    await beside.shown;
    expect(quirks.searchMs).toBeUndefined();
    const next = quirks.begins();
    expect(next.shown).toBeUndefined();
    first.ends();
    expect(quirks.begins().shown).toBeInstanceOf(Promise);
    quirks.took(4_000, 2);
    next.ends();
    expect(quirks.begins().expectedMs).toBe(4_000);
  });

  test('include how far its clock is behind, but not how far it is ahead (E11)', () => {
    const quirks = new ServiceQuirks();
    quirks.showedDate(90_000, 100_000);
    expect(quirks.clockBehindMs).toBe(10_000);
    quirks.showedDate(110_000, 100_000);
    expect(quirks.clockBehindMs).toBe(0);
  });

  test('are shared by all searches of the same kind of time (E10)', () => {
    const services = new QuirksOfServices();
    expect(services.of('a', false)).toBe(services.of('a', false));
    expect(services.of('a', false)).not.toBe(services.of('b', false));
    // A service might treat the end of a range as inclusive only in searches by message time, or only in searches by
    // receipt time. Each kind of search therefore has its own entry.
    expect(services.of('a', true)).not.toBe(services.of('a', false));
  });
});
