import { describe, expect, test } from 'vitest';
import { InOrder } from '../../../src/export/search/duplicates.ts';
import type { IntervalFiles } from '../../../src/export/search/interval-files.ts';
import { IntervalRows } from '../../../src/export/search/interval-rows.ts';
import { RunTally, type RunTallyOptions } from '../../../src/export/search/run-tally.ts';

/** Fake files that copy each row, because the caller reuses the row's memory after the call. */
function collect() {
  const written: string[] = [];
  const row = ({ bytes }: { readonly bytes: Uint8Array }) => void written.push(Buffer.from(bytes).toString());
  return { written, files: { row, drained: () => undefined } as unknown as IntervalFiles };
}

function rowsOf(left: RunTallyOptions['left'], maxHeldBytes?: number) {
  const { written, files } = collect();
  const interval = { fromMs: 0, toMs: 100 };
  const tally = new RunTally({ interval, byReceiptTime: false, duplicates: new InOrder(), left, sliceMs: undefined });
  const rows = new IntervalRows(tally, files, maxHeldBytes);
  const memory = Buffer.alloc(64);
  let number = 0;
  /** Passes on one row at each of these times. All rows share the same memory. */
  const take = (...timesMs: readonly number[]) => {
    for (const messageTimeMs of timesMs) {
      const text = `${messageTimeMs}#${number}`;
      memory.write(text);
      const bytes = memory.subarray(0, text.length);
      rows.row({ bytes, messageTimeMs, messageId: `${number++}`, receiptTimeMs: undefined });
    }
  };
  return { rows, written, take };
}

describe('rows of the oldest millisecond (E4)', () => {
  test('are held back until an older one comes, and written in their order', () => {
    const { rows, written, take } = rowsOf('oldest');
    take(90, 80, 80);
    expect(written).toEqual(['90#0']);
    take(70);
    expect(written).toEqual(['90#0', '80#1', '80#2']);
    expect(rows.tally.figures(false)).toMatchObject({ received: 4, written: 3, left: 1 });
    expect([rows.isSpilled, rows.tally.oldestMs]).toEqual([false, 70]);
  });

  test('are written in the end where nothing is left', () => {
    const { rows, written, take } = rowsOf('oldest');
    take(80, 80);
    rows.writeHeld();
    expect(written).toEqual(['80#0', '80#1']);
    expect(rows.tally.figures(true)).toMatchObject({ written: 2, left: 0 });
  });

  test('are written where they are more than is kept, which shows as long as they are the oldest', () => {
    const { rows, written, take } = rowsOf('oldest', 10);
    take(80, 80);
    expect([written, rows.isSpilled]).toEqual([[], false]);
    take(80, 80);
    expect([written, rows.isSpilled]).toEqual([['80#0', '80#1', '80#2', '80#3'], true]);
    take(70);
    expect([written.length, rows.isSpilled]).toEqual([4, false]);
    take(60);
    expect(written.at(-1)).toBe('70#4');
    expect(rows.tally.figures(false)).toMatchObject({ received: 6, written: 5, left: 1 });
  });

  test('are kept by the hundred', () => {
    const { rows, written, take } = rowsOf('oldest');
    const times = Array.from({ length: 5_000 }, () => 50);
    take(...times, 49);
    expect(written).toEqual(times.map((timeMs, index) => `${timeMs}#${index}`));
    expect(rows.isSpilled).toBe(false);
  });
});

describe('a known start of the counted rows (E6)', () => {
  test('makes it unnecessary to hold rows back', () => {
    const { written, take, rows } = rowsOf({ beforeMs: 80 });
    take(90, 80, 79, 79);
    expect(written).toEqual(['90#0', '80#1']);
    expect(rows.tally.figures(false)).toMatchObject({ written: 2, left: 2 });
  });
});
