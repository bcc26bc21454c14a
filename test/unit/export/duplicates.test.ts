import { describe, expect, test } from 'vitest';
import { AnyOrder, type Duplicates, InOrder, type KnownRow } from '../../../src/export/search/duplicates.ts';

function row(messageTimeMs: number, messageId: string, text = ''): KnownRow {
  return { messageTimeMs, messageId, bytes: Buffer.from(JSON.stringify({ messageTimeMs, messageId, text })) };
}

function answers(duplicates: Duplicates, rows: readonly KnownRow[]): boolean[] {
  return rows.map((one) => duplicates.comesAgain(one));
}

describe.each([
  ['InOrder', () => new InOrder()],
  ['InOrder that keeps digests alone', () => new InOrder(0)],
  ['InOrder that keeps digests of what is beyond some bytes', () => new InOrder(60)],
  ['AnyOrder', () => new AnyOrder()],
])('%s (E9)', (_, make) => {
  test('knows a row that comes again', () => {
    expect(answers(make(), [row(5, '1'), row(5, '2'), row(5, '1'), row(5, '2'), row(5, '2')])).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  test('takes no row with other bytes for the same, whatever its id', () => {
    const rows = [row(5, '1', 'a'), row(5, '1', 'b'), row(5, '1', 'c'), row(5, '1', 'b'), row(5, '1', 'a')];
    expect(answers(make(), rows)).toEqual([false, false, false, true, true]);
  });

  test('takes no row with another id for the same', () => {
    expect(answers(make(), [row(5, '1'), row(5, '-1'), row(4, '1')])).toEqual([false, false, false]);
  });

  test('does not depend on bytes that are written over', () => {
    const duplicates = make();
    const one = row(5, '1', 'first');
    const place = Buffer.from(one.bytes);
    duplicates.comesAgain({ ...one, bytes: place });
    place.fill(0);
    expect(duplicates.comesAgain(one)).toBe(true);
  });

  test('is sure while rows come newest first', () => {
    const duplicates = make();
    answers(duplicates, [row(5, '1'), row(5, '2'), row(3, '3')]);
    expect(duplicates.isSure).toBe(true);
  });

  test('knows all of thousands of rows in a millisecond', () => {
    const rows = Array.from({ length: 3_000 }, (_, number) => row(5, `${number}`, 'x'.repeat(number % 50)));
    const duplicates = make();
    expect(answers(duplicates, rows)).not.toContain(true);
    expect(answers(duplicates, rows)).not.toContain(false);
  });
});

describe('rows out of order', () => {
  const rows = [row(5, '1'), row(4, '2'), row(5, '1')];

  test('may come again unnoticed where the order is relied on, which is said', () => {
    const duplicates = new InOrder();
    expect(answers(duplicates, rows)).toEqual([false, false, false]);
    expect(duplicates.isSure).toBe(false);
  });

  test('are known where it is not', () => {
    const duplicates = new AnyOrder();
    expect(answers(duplicates, rows)).toEqual([false, false, true]);
    expect(duplicates.isSure).toBe(true);
  });
});
