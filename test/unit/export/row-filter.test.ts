import { describe, expect, test } from 'vitest';
import { InOrder } from '../../../src/export/search/duplicates.ts';
import { RowFilter } from '../../../src/export/search/row-filter.ts';

const interval = { fromMs: 100, toMs: 200 };

function row(messageTimeMs: number, id: number, receiptTimeMs: number | undefined = messageTimeMs) {
  const bytes = Buffer.from(JSON.stringify({ id, messageTimeMs, receiptTimeMs }));
  return { messageTimeMs, messageId: `${id}`, receiptTimeMs, bytes, size: id };
}

function filter(writtenFromMs?: number, byReceiptTime = false, sliceMs = 1_000): RowFilter {
  return new RowFilter({ interval, byReceiptTime, duplicates: new InOrder(), writtenFromMs, sliceMs });
}

describe('rows of a search', () => {
  test('that was not cut are all written', () => {
    const rows = filter();
    expect([row(199, 1), row(150, 2), row(150, 3), row(100, 4)].map((one) => rows.take(one))).toEqual(
      Array(4).fill(true),
    );
    expect(rows.figures()).toEqual({
      received: 4,
      overlapping: 0,
      written: 4,
      outside: 0,
      duplicates: 0,
      duplicatesOfWritten: 0,
      left: 0,
      atEnd: 0,
      strayMs: undefined,
      oldestMs: 100,
      isDisordered: false,
      areDuplicatesSure: true,
      messages: { bytes: 10, oldestMs: 100, newestMs: 199 },
      slices: {
        lengthMs: 1_000,
        slices: [{ fromMs: 0, rows: 4, bytes: 10, oldestMs: 100, newestMs: 199, offsetsMs: 599 }],
      },
      repeated: [],
    });
  });

  test('are added up only if they are written (E6)', () => {
    const rows = filter(150);
    for (const one of [row(180, 7), row(180, 7), row(150, 3), row(120, 4), row(120, 5), row(120, 5)]) rows.take(one);
    expect(rows.figures()).toMatchObject({
      messages: { bytes: 10, oldestMs: 150, newestMs: 180 },
      repeated: [{ id: '7', atMs: 180, bytes: 7, times: 1 }],
      ...{ written: 2, left: 2, duplicates: 2, duplicatesOfWritten: 1 },
    });
  });

  test('are added up for each slice of time (E6)', () => {
    const rows = filter(160, false, 20);
    for (const one of [row(180, 7), row(165, 3), row(179, 2), row(159, 1)]) rows.take(one);
    expect(rows.figures().slices).toEqual({
      lengthMs: 20,
      slices: [
        { fromMs: 160, rows: 2, bytes: 5, oldestMs: 165, newestMs: 179, offsetsMs: 24 },
        { fromMs: 180, rows: 1, bytes: 7, oldestMs: 180, newestMs: 180, offsetsMs: 0 },
      ],
    });
  });

  test('have no sum of bytes if a row has no size', () => {
    const rows = filter();
    for (const one of [row(180, 7), { ...row(150, 3), size: undefined }]) rows.take(one);
    expect(rows.figures().messages).toEqual({ oldestMs: 150, newestMs: 180 });
  });

  test.each([
    [100, 100],
    [101, undefined],
  ])('that are repeated %i times: %s are named', (count, named) => {
    const rows = filter();
    for (let id = 0; id < count; id++) for (let times = 0; times < 3; times++) rows.take(row(199, id));
    expect(rows.figures().repeated?.length).toBe(named);
  });

  test('outside the interval are dropped, and rows at its end are counted (E10)', () => {
    const rows = filter();
    expect([row(201, 1), row(200, 2), row(199, 3), row(99, 4)].map((one) => rows.take(one))).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect(rows.figures()).toMatchObject({ received: 4, written: 1, outside: 3, atEnd: 1, oldestMs: 199 });
    expect(rows.figures().strayMs).toBe(201);
  });

  test('that are repeated are dropped and counted (E9)', () => {
    const rows = filter();
    expect([row(150, 1), row(150, 1)].map((one) => rows.take(one))).toEqual([true, false]);
    expect(rows.figures()).toMatchObject({ received: 2, written: 1, duplicates: 1 });
  });

  test('at the start of a page that are repeated count as overlapping on request (E9)', () => {
    const rows = filter();
    for (const one of [row(150, 1), row(149, 2)]) rows.take(one);
    rows.beginPage();
    const fates = [row(149, 2), row(148, 3), row(148, 3)].map((one) => rows.take(one));
    expect(fates).toEqual([false, true, false]);
    expect(rows.repeatedAtStart).toBe(1);
    expect(rows.figures()).toMatchObject({ received: 5, written: 3, duplicates: 2, overlapping: 0 });
    rows.overlaps();
    expect(rows.figures()).toMatchObject({ received: 5, duplicates: 2, overlapping: 1 });
    rows.beginPage();
    rows.take(row(147, 4));
    expect(rows.repeatedAtStart).toBe(0);
  });

  test('before the start of the written part are left to the next search (E4)', () => {
    const rows = filter(150);
    expect([row(151, 1), row(150, 2), row(149, 3)].map((one) => rows.take(one))).toEqual([true, true, false]);
    expect(rows.figures()).toMatchObject({ received: 3, written: 2, left: 1, oldestMs: 149 });
  });

  test('out of order are reported', () => {
    const rows = filter();
    for (const one of [row(150, 1), row(120, 2), row(150, 1)]) rows.take(one);
    expect(rows.figures()).toMatchObject({ isDisordered: true, areDuplicatesSure: false });
  });

  test('belong to the interval of their receipt time in a search by receipt time', () => {
    const rows = filter(undefined, true);
    expect([row(500, 1, 199), row(150, 2, 200), row(20, 3, 100)].map((one) => rows.take(one))).toEqual([
      true,
      false,
      true,
    ]);
    expect(rows.figures()).toMatchObject({ written: 2, outside: 1, atEnd: 1, oldestMs: 100, isDisordered: false });
  });

  test('without a receipt time are an error in a search by receipt time', () => {
    const { receiptTimeMs: _, ...rest } = row(150, 7);
    const bare = { ...rest, receiptTimeMs: undefined };
    expect(() => filter(undefined, true).take(bare)).toThrow(/Message 7 has no _receipttime/);
  });
});
