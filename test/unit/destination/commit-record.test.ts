/** Tests that two processes together commit each interval of an export exactly once (E3, E4, E6). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/base/time-units.ts';
import { type CommitRecord, commit, readRecords, recordKind } from '../../../src/destination/commit-record.ts';
import { coverageOf } from '../../../src/destination/coverage.ts';
import { verifyExport } from '../../../src/destination/export-verification.ts';
import { manifestOf, removeStrays, writeManifest } from '../../../src/destination/manifest.ts';
import { segmentsOf } from '../../../src/destination/plan-object.ts';
import { listFiles } from '../../../src/destination/recorded-files.ts';
import { summaryOf } from '../../../src/destination/slice-figures.ts';
import { type DestinationCall, MemoryDestination } from '../../support/memory-destination.ts';
import { randomRuns } from '../../support/random-runs.ts';
import { identity, layout, plan, recordOf, startMs, store, tokenOf } from './sample-export.ts';

const endMs = startMs + 4 * hourMs;

const slice = { fromMs: startMs, rows: 10, bytes: 20, oldestMs: startMs, newestMs: startMs + 9 };
const slices = summaryOf({ lengthMs: hourMs, slices: [slice] }, { fromMs: startMs + 1, toMs: endMs });

const losesResponse = (call: DestinationCall) =>
  call === 'create' ? ({ failure: 'exists', hasEffect: true } as const) : undefined;

describe('a commit', () => {
  test('is named only by its segment and end (E3)', async () => {
    const destination = new MemoryDestination();
    const { record } = recordOf(1, startMs + 3 * hourMs, endMs, 10);
    expect(await commit(destination, layout, record)).toEqual({ kind: 'committed' });
    expect([...destination.objects.keys()]).toEqual([`${layout.folder}/commits/000001-20261101T040000000Z.json`]);
    expect(await readRecords(destination, layout)).toEqual([record]);
  });

  test('returns the record of another process, and removes only its own file (E3)', async () => {
    const destination = new MemoryDestination();
    const first = await store(destination, recordOf(1, startMs + 3 * hourMs, endMs, 10, 'w1'));
    const second = await store(destination, recordOf(1, startMs + 2 * hourMs, endMs, 20, 'w2'));
    await commit(destination, layout, first);
    expect(await commit(destination, layout, second)).toEqual({ kind: 'taken', existing: first });
    expect(destination.objects.has(layout.within(first.files[0]!.name))).toBe(true);
    expect(destination.objects.has(layout.within(second.files[0]!.name))).toBe(false);
    const { remaining } = coverageOf(plan, await readRecords(destination, layout));
    expect(remaining).toContainEqual({ index: 1, fromMs: startMs + 2 * hourMs, toMs: startMs + 3 * hourMs });
  });

  test('that finds its own record after a lost response has succeeded, and keeps its file', async () => {
    const destination = new MemoryDestination();
    const record = await store(destination, recordOf(1, startMs + 3 * hourMs, endMs, 10));
    destination.strike = losesResponse;
    expect(await commit(destination, layout, record)).toEqual({ kind: 'committed' });
    expect(await commit(destination, layout, record)).toEqual({ kind: 'committed' });
    expect(destination.objects.has(layout.within(record.files[0]!.name))).toBe(true);
  });

  test('keeps its files if the existing record lists them, but has other JSON whitespace', async () => {
    const destination = new MemoryDestination();
    const record = await store(destination, recordOf(1, startMs + 3 * hourMs, endMs, 10));
    const stored = JSON.parse(Buffer.from(recordKind.encode(record)).toString());
    destination.objects.set(layout.commit(1, endMs), Buffer.from(JSON.stringify(stored, undefined, 2)));
    expect(await commit(destination, layout, record)).toMatchObject({ kind: 'taken', existing: record });
    expect(destination.objects.has(layout.within(record.files[0]!.name))).toBe(true);
  });

  const { record } = recordOf(1, startMs, endMs, 10);
  test.each<[string, Partial<CommitRecord>]>([
    ['its sums lack rows', { received: 14 }],
    ['the count of the job differs from the received rows (E6)', { count: { rows: 14, source: 'Job' } }],
    ['the count of the interval differs from the written rows (E6)', { count: { rows: 13, source: 'Aggregate' } }],
    ['its files have another number of rows', { files: [] }],
    ['its interval is empty', { fromMs: endMs }],
    ['it shares more than two slices (E6)', { slices: { ...slices, shared: [slice, slice, slice] } }],
  ])('is refused when %s', async (_, changes) => {
    const destination = new MemoryDestination();
    await expect(commit(destination, layout, { ...record, ...changes })).rejects.toMatchObject({
      code: 'bug.assertion',
    });
    expect(destination.objects.size).toBe(0);
  });

  test('of a cut search is proven by its other rows (E6)', async () => {
    const cut: CommitRecord = { ...record, count: { rows: 10, source: 'Histogram' } };
    expect(await commit(new MemoryDestination(), layout, cut)).toEqual({ kind: 'committed' });
  });

  test('that is flagged as incomplete needs no proof', async () => {
    const kept: CommitRecord = {
      ...record,
      count: { rows: 99, source: 'Job' },
      incomplete: { reason: 'CountDiffers' },
    };
    const destination = new MemoryDestination();
    expect(await commit(destination, layout, kept)).toEqual({ kind: 'committed' });
    expect(await readRecords(destination, layout)).toEqual([kept]);
  });
});

test('known records are valid as long as they can be read, even if a listing lacks them', async () => {
  const destination = new MemoryDestination();
  const known = [recordOf(1, startMs, endMs, 10).record, recordOf(0, startMs, startMs + 1, 10).record];
  for (const record of known) await commit(destination, layout, record);
  destination.list = async function* () {};
  expect(await readRecords(destination, layout, known)).toEqual(known);
  await destination.remove(layout.commit(0, startMs + 1));
  expect(await readRecords(destination, layout, known)).toEqual([known[0]]);
  expect(await readRecords(destination, layout)).toEqual([]);
});

describe('a record that is read back', () => {
  const { record } = recordOf(1, startMs, endMs, 10);
  const file = record.files[0]!;

  test('equals the written one, and has the same bytes each time', () => {
    const shuffled = Object.fromEntries(Object.entries(record).reverse()) as unknown as CommitRecord;
    expect(Buffer.from(recordKind.encode(shuffled)).equals(Buffer.from(recordKind.encode(record)))).toBe(true);
    expect(recordKind.decode('x', recordKind.encode(record))).toEqual(record);
    const sliced = { ...record, slices };
    expect(recordKind.decode('x', recordKind.encode(sliced))).toEqual(sliced);
  });

  test.each<[string, object, string]>([
    ['a figure is missing', { received: undefined }, '/received is missing'],
    ['a figure is not a number', { received: '13' }, '/received is "13", but must be a whole number from 0 on'],
    ['a figure is negative', { left: -1 }, '/left is -1'],
    ['a figure is not whole', { left: 0.5 }, '/left is 0.5'],
    [
      'its end is not a valid time',
      { toMs: 9e15 },
      '/toMs is 9000000000000000, but must be a whole number of milliseconds',
    ],
    [
      'it has an unknown member',
      { note: 'x' },
      'the field /note is unknown to this version of logfleet; run the newer version of logfleet',
    ],
    [
      'it has another version',
      { version: 2 },
      'the object has the format version 2 (/version), but this version of logfleet supports only 1; run the newer',
    ],
    ['it has another kind', { kind: 'logfleet.dev/export-plan' }, '/kind is "logfleet.dev/export-plan"'],
    ['its count has an unknown source', { count: { rows: 13, source: 'Guess' } }, '/count/source is "Guess"'],
    ['a hash is invalid', { files: [{ ...file, sha256: 'abc' }] }, '/files/0/sha256 is "abc"'],
    [
      'a file is outside the folder',
      { files: [{ ...file, name: '../../x' }] },
      '/files/0: /name: ".." begins with a dot',
    ],
    [
      'a file is not in the folder of data',
      { files: [{ ...file, name: 'plan.json' }] },
      '/files/0: /name does not lie in data/',
    ],
    [
      'a file is named twice',
      { files: [file, file], written: 20, received: 23 },
      'the commit record lists the same file twice',
    ],
    [
      'a hash of slices is invalid',
      { slices: { ...slices, whole: { ...slices.whole, rows: '' } } },
      '/slices/whole/rows',
    ],
    ['a slice has no rows', { slices: { ...slices, shared: [{ ...slice, rows: 0 }] } }, '/slices/shared/0/rows is 0'],
    ['files are not a list', { files: {} }, '/files is {}, but must be a list'],
    ['a file is not an object', { files: [3] }, '/files/0 is not an object'],
  ])('is refused if %s', (_, changes, problem) => {
    const stored = { ...JSON.parse(Buffer.from(recordKind.encode(record)).toString()), ...changes };
    expect(() => recordKind.decode('commits/x.json', Buffer.from(JSON.stringify(stored)))).toThrow(
      expect.objectContaining({
        code: 'destination.damaged',
        handling: { kind: 'stall' },
        message: expect.stringMatching(
          /^commits\/x\.json is damaged: .*restore the original commit record, or remove the record/s,
        ),
      }),
    );
    expect(() => recordKind.decode('x', Buffer.from(JSON.stringify(stored)))).toThrow(problem);
  });

  test.each(['', '{', '[]', 'null', '\ud800'])('is refused with the content %j', (text) => {
    expect(() => recordKind.decode('x', Buffer.from(text))).toThrow('is damaged');
  });

  test('is refused if the folder contains another file, which the message says to remove', async () => {
    const destination = new MemoryDestination();
    destination.objects.set(`${layout.commit(1, endMs)}.bak`, recordKind.encode(record));
    await expect(readRecords(destination, layout)).rejects.toThrow(
      'this is not a valid name for a commit record; remove it',
    );
  });

  test('is refused under the name of another record', async () => {
    const destination = new MemoryDestination();
    destination.objects.set(layout.commit(0, endMs), recordKind.encode(record));
    await expect(readRecords(destination, layout)).rejects.toThrow('it belongs to');
  });
});

describe('the committed part of an export', () => {
  const record = (segment: number, fromHour: number, toHour: number) =>
    recordOf(segment, startMs + fromHour * hourMs, startMs + toHour * hourMs, 1).record;

  test('is computed from plan and records in any order', () => {
    const records = [record(1, 3, 4), record(0, 0, 1), record(0, 1, 2), record(1, 2.5, 3)];
    const { intervals, remaining, strays } = coverageOf(plan, records);
    expect(intervals).toEqual([records[1], records[2], records[3], records[0]]);
    expect(remaining).toEqual([{ index: 1, fromMs: startMs + 2 * hourMs, toMs: startMs + 2.5 * hourMs }]);
    expect(strays).toEqual([]);
  });

  test.each([
    ['begins before its segment', record(1, 1, 4)],
    ['does not end where another record begins', record(1, 2, 3)],
    ['belongs to no segment', record(7, 2, 4)],
  ])('excludes a record that %s', (_, stray) => {
    const { intervals, remaining, strays } = coverageOf(plan, [stray]);
    expect([intervals, strays]).toEqual([[], [stray]]);
    expect(remaining).toEqual(segmentsOf(plan));
  });
});

/**
 * Simulates two operators that export to the same destination. Some responses to the operators are lost, and the
 * operators can crash before each commit.
 */
test('commits of two processes in any order cover the range once, and leave no other files (E3)', async () => {
  const step = fc.record({
    writer: fc.nat(1),
    looksAgain: fc.boolean(),
    which: fc.nat(3),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
    rows: fc.nat(5),
    fate: fc.constantFrom('commits', 'commits', 'losesTheResponse', 'dies'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const destination = new MemoryDestination();
      const seen: (readonly CommitRecord[])[] = [[], []];
      let turn = 0;
      const work = async ({ writer, looksAgain, which, cut, rows, fate }: (typeof steps)[number]) => {
        if (looksAgain) seen[writer] = await readRecords(destination, layout);
        const { remaining } = coverageOf(plan, seen[writer] ?? []);
        const segment = remaining[which % Math.max(1, remaining.length)];
        if (!segment) return;
        const fromMs = segment.fromMs + Math.floor(cut * (segment.toMs - segment.fromMs - 1));
        const made = recordOf(segment.index, fromMs, segment.toMs, rows, tokenOf(turn++));
        await store(destination, made);
        if (fate === 'dies') return;
        destination.strike = (call) => (fate === 'losesTheResponse' ? losesResponse(call) : undefined);
        const outcome = await commit(destination, layout, made.record);
        destination.strike = () => undefined;
        seen[writer] = [...(seen[writer] ?? []), outcome.kind === 'taken' ? outcome.existing : made.record];
      };
      for (const each of steps) await work(each);
      const looking = { writer: 0, looksAgain: true, which: 0, cut: 0, rows: 2, fate: 'commits' as const };
      while (coverageOf(plan, await readRecords(destination, layout)).remaining.length > 0) await work(looking);
      const coverage = coverageOf(plan, await readRecords(destination, layout));
      await removeStrays(destination, layout, coverage, await listFiles(destination, layout));
      await writeManifest(destination, layout, manifestOf(identity, coverage));
      await writeManifest(destination, layout, manifestOf(identity, coverage));
      expect((await verifyExport(destination, layout)).differences).toEqual([]);
    }),
    { numRuns: randomRuns(50) },
  );
});
