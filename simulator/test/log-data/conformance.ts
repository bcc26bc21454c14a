/**
 * Test suite for all sources of log data. Compares searches of each source with a simple search of the same messages.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomRuns } from '../../../test/support/random-runs.ts';
import { textOf } from '../../base/body.ts';
import { PieceMemory, pieceBytes } from '../../base/piece-memory.ts';
import type { JsonPage, LogData, MatchListener, SearchRange } from '../../log-data/log-data.ts';
import type { MessageFilter, MessageRow } from '../../query/row.ts';
import { everything, messagesOf, PlainSearch } from './plain-search.ts';

export interface DataSample {
  readonly data: LogData;
  /** Start and end of a time range that contains the message and receipt times of every message. */
  readonly fromMs: number;
  readonly toMs: number;
}

const reading = (reads: string, matches: (value: string) => boolean): MessageFilter => ({
  reads: new Set([reads]),
  matches: (row) => matches(String(row.field(reads) ?? '')),
});

/**
 * Filters for the tests. Some filters give the same result for all messages that are generated from the same template,
 * and others do not.
 */
const filters: Readonly<Record<string, MessageFilter>> = {
  everything,
  nothing: { reads: new Set(), matches: () => false },
  text: reading('_raw', (raw) => /e[a-m]/.test(raw)),
  category: reading('_sourcecategory', (category) => category.startsWith('prod/')),
  host: reading('_sourcehost', (host) => host.endsWith('7')),
  'a few': reading('_size', (size) => Number(size) % 37 === 5),
  time: reading('_messagetime', (time) => Number(time) % 3 === 0),
  receipt: { reads: new Set(['_receipttime']), matches: ({ receiptTimeMs }) => receiptTimeMs % 5 === 1 },
  id: reading('_messageid', (id) => id.endsWith('3')),
};

const infinite = Number.POSITIVE_INFINITY;

export function describeLogData(name: string, { data, fromMs, toMs }: DataSample): void {
  const all = messagesOf(data, fromMs, toMs);
  const inside = fc.integer({ min: fromMs - 1_000, max: toMs + 1_000 });
  const ownTimes = fc.constantFrom(...all.flatMap(({ row }) => [row.messageTimeMs, row.receiptTimeMs]));
  /**
   * Generates random times. Many of these times are the exact time of a message, or one millisecond after a message.
   */
  const time = fc.oneof(
    inside,
    ownTimes,
    ownTimes.map((timeMs) => timeMs + 1),
  );
  const range: fc.Arbitrary<SearchRange> = fc
    .record({ fromMs: time, toMs: time, byReceiptTime: fc.boolean() })
    .map(({ fromMs: one, toMs: other, byReceiptTime }) => ({
      fromMs: Math.min(one, other),
      toMs: Math.max(one, other),
      byReceiptTime,
    }));
  const filter = fc.constantFrom(...Object.entries(filters));
  const steps = fc.array(
    fc.record({ downToMs: time, maxMatches: fc.oneof(fc.nat(all.length), fc.constant(infinite)) }),
    {
      minLength: 1,
      maxLength: 4,
    },
  );
  const pageOf = fc.record({
    offset: fc.nat(all.length),
    limit: fc.nat(200),
    maxBytes: fc.oneof(fc.nat(100_000), fc.constant(infinite)),
    withRaw: fc.boolean(),
  });

  describe(name, () => {
    test('has messages, newest first, with unique ids', () => {
      expect(all.length).toBeGreaterThan(0);
      const times = all.map(({ row }) => row.messageTimeMs);
      expect(times).toEqual(times.toSorted((left, right) => right - left));
      expect(new Set(all.map(({ row }) => row.field('_messageid'))).size).toBe(all.length);
    });

    test('has strings as values, and a field descriptor for each name (2.4)', () => {
      const named = new Set(data.fields.map((field) => field.name));
      expect(named.size).toBe(data.fields.length);
      for (const { map } of all) {
        expect(Object.values(map).every((value) => typeof value === 'string')).toBe(true);
        expect(Object.keys(map).filter((field) => !named.has(field))).toEqual([]);
      }
    });

    test('has the size of _raw, and omits only _raw on request', () => {
      for (const { map, withoutRaw } of all) {
        const { _raw = '', ...rest } = map;
        expect(map['_size']).toBe(String(Buffer.byteLength(_raw)));
        expect(JSON.parse(withoutRaw)).toEqual({ map: rest });
      }
    });

    test('finds and shows the same messages as a plain search, for any sequence of calls', () => {
      fc.assert(
        fc.property(range, filter, steps, pageOf, (searched, [, wanted], course, page) => {
          const search = data.search(searched, wanted);
          const plain = new PlainSearch(all, searched, wanted);
          const reported: string[] = [];
          const listener = { each: (row: MessageRow) => void reported.push(keyOf(row)) };
          expect(search.found).toBe(0);
          expect(search.reachedMs).toBe(searched.toMs);
          for (const { downToMs, maxMatches } of course) {
            const [foundBefore, reachedBefore] = [search.found, search.reachedMs];
            reported.length = 0;
            search.advance(downToMs, maxMatches, listener);
            const fresh = plain.advance(downToMs, maxMatches).map(({ row }) => keyOf(row));
            expect(search.found).toBe(plain.found.length);
            expect(searched.byReceiptTime ? reported.toSorted() : reported).toEqual(
              searched.byReceiptTime ? fresh.toSorted() : fresh,
            );
            expect(search.found).toBeGreaterThanOrEqual(foundBefore);
            expect(search.reachedMs).toBeLessThanOrEqual(reachedBefore);
            expect(plain.missed(search)).toEqual([]);
            if (search.found < maxMatches) {
              expect(search.reachedMs).toBeLessThanOrEqual(Math.max(downToMs, searched.fromMs));
            }
            if (!searched.byReceiptTime) expect(search.scannedBytes).toBe(plain.scannedBytes);
            expectPage(
              search.page(page.offset, page.limit, page.maxBytes, page.withRaw),
              plain.page(page.offset, page.limit, page.maxBytes, page.withRaw),
            );
          }
        }),
        { numRuns: randomRuns(10) },
      );
    });

    test.each([false, true])('finds each message in its millisecond (by receipt time: %s)', (byReceiptTime) => {
      const timeOf = ({ messageTimeMs, receiptTimeMs }: MessageRow) => (byReceiptTime ? receiptTimeMs : messageTimeMs);
      const counts = new Map<number, number>();
      for (const { row } of all) counts.set(timeOf(row), (counts.get(timeOf(row)) ?? 0) + 1);
      for (const [timeMs, count] of [...counts].slice(0, 300)) {
        const search = data.search({ fromMs: timeMs, toMs: timeMs + 1, byReceiptTime }, everything);
        search.advance(fromMs, infinite);
        expect(search.found).toBe(count);
      }
    });

    test('shows each match once in consecutive pages (10.3)', () => {
      fc.assert(
        fc.property(
          range,
          filter,
          fc.integer({ min: 150, max: 5_000 }),
          fc.integer({ min: 150_000, max: 3_000_000 }),
          (searched, [, wanted], limit, maxBytes) => {
            const search = data.search(searched, wanted);
            search.advance(searched.fromMs, infinite);
            const pages: string[] = [];
            for (let offset = 0; offset < search.found; ) {
              const page = search.page(offset, limit, maxBytes, true);
              expect(page.rows).toBeGreaterThan(0);
              pages.push(textOf(page));
              offset += page.rows;
            }
            const plain = new PlainSearch(all, searched, wanted);
            plain.advance(searched.fromMs, infinite);
            expect(pages.join(',') === plain.page(0, infinite, infinite, true).text).toBe(true);
          },
        ),
        { numRuns: randomRuns(4) },
      );
    });

    test('does not depend on other searches', () => {
      fc.assert(
        fc.property(fc.array(fc.tuple(range, filter, pageOf), { minLength: 2, maxLength: 5 }), (asked) => {
          const searches = asked.map(([searched, [, wanted]]) => data.search(searched, wanted));
          for (const share of [0.3, 0.6, 1]) {
            for (const [index, [searched]] of asked.entries()) {
              searches[index]?.advance(searched.toMs - Math.ceil((searched.toMs - searched.fromMs) * share), infinite);
            }
          }
          const shown = searches.map((search, index) => {
            const { offset, limit, maxBytes, withRaw } = (asked[index] as (typeof asked)[number])[2];
            return search.page(offset, limit, maxBytes, withRaw);
          });
          const texts = shown.map(textOf);
          for (const [index, [searched, [, wanted], { offset, limit, maxBytes, withRaw }]] of asked.entries()) {
            const plain = new PlainSearch(all, searched, wanted);
            plain.advance(searched.fromMs, infinite);
            expect(texts[index]).toBe(plain.page(offset, limit, maxBytes, withRaw).text);
          }
          expect(shown.map(textOf)).toEqual(texts);
        }),
        { numRuns: randomRuns(4) },
      );
    });

    test('ends a page before it exceeds its maximum size, but not before the first message', () => {
      const search = data.search({ fromMs, toMs, byReceiptTime: false }, everything);
      search.advance(fromMs, infinite);
      for (const rows of [1, 2, 17]) {
        const { bytes } = search.page(0, rows, infinite, true);
        expect(search.page(0, infinite, bytes, true)).toMatchObject({ rows, bytes });
        expect(search.page(0, infinite, bytes - 1, true).rows).toBe(Math.max(1, rows - 1));
      }
    });

    test('does not change a chunk after returning it', () => {
      const search = data.search({ fromMs, toMs, byReceiptTime: false }, everything);
      search.advance(fromMs, infinite);
      const page = search.page(0, 10_000, infinite, true);
      const kept: { readonly piece: Uint8Array; readonly copy: Buffer }[] = [];
      for (const piece of page.pieces()) kept.push({ piece, copy: Buffer.from(piece) });
      expect(kept.length).toBeGreaterThan(0);
      expect(kept.every(({ piece, copy }) => copy.equals(piece))).toBe(true);
    });

    test('makes the same page in reused memory', () => {
      const search = data.search({ fromMs, toMs, byReceiptTime: false }, everything);
      search.advance(fromMs, infinite);
      const memory = new PieceMemory();
      const buffers = new Set<ArrayBufferLike>();
      for (const offset of [0, 100]) {
        const page = search.page(offset, 10_000, infinite, true);
        let text = '';
        const decoder = new TextDecoder();
        for (const piece of page.pieces(memory)) {
          text += decoder.decode(piece, { stream: true });
          if (piece.length < pieceBytes) buffers.add(piece.buffer);
          memory.giveBack(piece);
        }
        expect(text === textOf(page)).toBe(true);
      }
      expect(buffers.size).toBe(1);
    });

    test('has rows with the same fields as pages', () => {
      const search = data.search({ fromMs, toMs, byReceiptTime: false }, everything);
      const rows: MessageRow[] = [];
      search.advance(fromMs, 300, { each: (row) => void rows.push(row) });
      for (const [index, row] of rows.entries()) {
        const { map } = all[index] as (typeof all)[number];
        for (const [field, value] of Object.entries(map)) {
          expect(String(row.field(field.toLowerCase()))).toBe(value);
        }
        expect(row.field('no such field')).toBeUndefined();
        expect([String(row.messageTimeMs), String(row.receiptTimeMs)]).toEqual([
          String(row.field('_messagetime')),
          String(row.field('_receipttime')),
        ]);
      }
    });

    test('gives the same sums whether matches are reported one by one or together', () => {
      const sums = fc.constantFrom('_sourcecategory', '_raw', '_collector', '_messagetime');
      fc.assert(
        fc.property(range, filter, sums, steps, (searched, [, wanted], field, course) => {
          const search = data.search(searched, wanted);
          const plain = new PlainSearch(all, searched, wanted);
          const counted = new Map<string, number>();
          const expected = new Map<string, number>();
          const add = (sum: typeof counted, row: MessageRow, times: number) => {
            const value = String(row.field(field));
            sum.set(value, (sum.get(value) ?? 0) + times);
          };
          const listener: MatchListener = { each: (row, times) => add(counted, row, times), reads: new Set([field]) };
          for (const { downToMs, maxMatches } of course) {
            search.advance(downToMs, maxMatches, listener);
            for (const { row } of plain.advance(downToMs, maxMatches)) add(expected, row, 1);
          }
          expect(counted).toEqual(expected);
        }),
        { numRuns: randomRuns(4) },
      );
    });

    test('gives the same sums for each slice of the message time, counted from the epoch', () => {
      const sums = fc.constantFrom('_sourcecategory', '_raw', '_receipttime', '_format');
      const slices = fc.constantFrom(1, 7, 500, 1_000, 60_000, 3_600_000);
      fc.assert(
        fc.property(range, filter, sums, slices, steps, (searched, [, wanted], field, sliceMs, course) => {
          const search = data.search(searched, wanted);
          const plain = new PlainSearch(all, searched, wanted);
          const counted = new Map<string, number>();
          const expected = new Map<string, number>();
          const add = (sum: typeof counted, row: MessageRow, times: number) => {
            const key = `${Math.floor(row.messageTimeMs / sliceMs)} ${row.field(field)}`;
            sum.set(key, (sum.get(key) ?? 0) + times);
          };
          const reads = new Set([field]);
          const listener: MatchListener = { each: (row, times) => add(counted, row, times), reads, sliceMs };
          for (const { downToMs, maxMatches } of course) {
            search.advance(downToMs, maxMatches, listener);
            for (const { row } of plain.advance(downToMs, maxMatches)) add(expected, row, 1);
          }
          expect(counted).toEqual(expected);
        }),
        { numRuns: randomRuns(8) },
      );
    });
  });
}

function keyOf(row: MessageRow): string {
  return `${row.messageTimeMs} ${row.field('_messageid')}`;
}

function expectPage(page: JsonPage, expected: { readonly rows: number; readonly text: string }): void {
  expect(page.rows).toBe(expected.rows);
  const text = textOf(page);
  expect(text === expected.text).toBe(true);
  expect(page.bytes).toBe(Buffer.byteLength(text));
  expect(JSON.parse(`[${text}]`)).toHaveLength(page.rows);
}
