import { describe, expect, test } from 'vitest';
import { AnyOrder, type Duplicates, InOrder, type KnownRow } from '../../../src/export/search/duplicates.ts';

function row(messageTimeMs: number, messageId: string, text = ''): KnownRow {
  return { messageTimeMs, messageId, bytes: Buffer.from(JSON.stringify({ messageTimeMs, messageId, text })) };
}

function repeated(duplicates: Duplicates, rows: readonly KnownRow[]): boolean[] {
  return rows.map((one) => duplicates.isDuplicate(one));
}

describe.each([
  ['InOrder', () => new InOrder()],
  ['InOrder that keeps only digests', () => new InOrder(0)],
  ['InOrder that keeps digests of rows above a size', () => new InOrder(60)],
  ['AnyOrder', () => new AnyOrder()],
])('%s (E9)', (_, make) => {
  test('recognizes a repeated row', () => {
    expect(repeated(make(), [row(5, '1'), row(5, '2'), row(5, '1'), row(5, '2'), row(5, '2')])).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  test('distinguishes rows with the same id and other bytes', () => {
    const rows = [row(5, '1', 'a'), row(5, '1', 'b'), row(5, '1', 'c'), row(5, '1', 'b'), row(5, '1', 'a')];
    expect(repeated(make(), rows)).toEqual([false, false, false, true, true]);
  });

  test('distinguishes rows with other ids', () => {
    expect(repeated(make(), [row(5, '1'), row(5, '-1'), row(4, '1')])).toEqual([false, false, false]);
  });

  test('copies the bytes that it compares', () => {
    const duplicates = make();
    const one = row(5, '1', 'first');
    const place = Buffer.from(one.bytes);
    duplicates.isDuplicate({ ...one, bytes: place });
    place.fill(0);
    expect(duplicates.isDuplicate(one)).toBe(true);
  });

  test('is sure while rows come newest first', () => {
    const duplicates = make();
    repeated(duplicates, [row(5, '1'), row(5, '2'), row(3, '3')]);
    expect(duplicates.isSure).toBe(true);
  });

  test('recognizes thousands of rows of a millisecond', () => {
    const rows = Array.from({ length: 3_000 }, (_, number) => row(5, `${number}`, 'x'.repeat(number % 50)));
    const duplicates = make();
    expect(repeated(duplicates, rows)).not.toContain(true);
    expect(repeated(duplicates, rows)).not.toContain(false);
  });

  test('recognizes thousands of rows with the same id', () => {
    const rows = Array.from({ length: 10_000 }, (_, number) => row(5, '1', `${number}`));
    const duplicates = make();
    expect(repeated(duplicates, rows)).not.toContain(true);
    expect(repeated(duplicates, rows)).not.toContain(false);
  });
});

describe('rows out of order', () => {
  const rows = [row(5, '1'), row(4, '2'), row(5, '1')];

  test('may be repeated unnoticed by InOrder, which reports that', () => {
    const duplicates = new InOrder();
    expect(repeated(duplicates, rows)).toEqual([false, false, false]);
    expect(duplicates.isSure).toBe(false);
  });

  test('are recognized by AnyOrder', () => {
    const duplicates = new AnyOrder();
    expect(repeated(duplicates, rows)).toEqual([false, false, true]);
    expect(duplicates.isSure).toBe(true);
  });
});
