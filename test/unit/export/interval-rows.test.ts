import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InOrder } from '../../../src/export/duplicates.ts';
import type { IntervalFiles } from '../../../src/export/interval-files.ts';
import { IntervalRows } from '../../../src/export/interval-rows.ts';
import { RunTally, type RunTallyOptions } from '../../../src/export/run-tally.ts';
import type { RawRows } from '../../../src/output/row-encoder.ts';
import { GivenRows } from './page-rows.ts';

/** Files that copy their rows; the memory of rows is reused after the call. */
function collect() {
  const written: string[] = [];
  const row = ({ bytes }: { readonly bytes: Uint8Array }) => void written.push(Buffer.from(bytes).toString());
  const run = (rows: RawRows, from: number, to: number) => {
    for (let index = from; index < to; index++) row({ bytes: rows.bytes(index) });
  };
  return { written, files: { row, run, room: () => undefined } as unknown as IntervalFiles };
}

function rowsOf(left: RunTallyOptions['left'], maxHeldBytes?: number) {
  const { written, files } = collect();
  const interval = { fromMs: 0, toMs: 100 };
  const tally = new RunTally({ interval, byReceiptTime: false, duplicates: new InOrder(), left, sliceMs: undefined });
  const rows = new IntervalRows(tally, files, maxHeldBytes);
  const memory = Buffer.alloc(64);
  let number = 0;
  /** Takes one row at each of these times; all rows share memory. */
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
    expect(rows.figures(false)).toMatchObject({ received: 4, written: 3, left: 1 });
    expect([rows.isSpilled, rows.oldestMs]).toEqual([false, 70]);
  });

  test('are written in the end where nothing is left', () => {
    const { rows, written, take } = rowsOf('oldest');
    take(80, 80);
    rows.writeHeld();
    expect(written).toEqual(['80#0', '80#1']);
    expect(rows.figures(true)).toMatchObject({ written: 2, left: 0 });
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
    expect(rows.figures(false)).toMatchObject({ received: 6, written: 5, left: 1 });
  });

  test('are kept by the hundred', () => {
    const { rows, written, take } = rowsOf('oldest');
    const times = Array.from({ length: 5_000 }, () => 50);
    take(...times, 49);
    expect(written).toEqual(times.map((timeMs, index) => `${timeMs}#${index}`));
    expect(rows.isSpilled).toBe(false);
  });
});

describe('a begin of what counts that shows on the way (E6)', () => {
  test('has what was held back written, and leaves what is older', () => {
    const { rows, written, take } = rowsOf('oldest');
    take(90, 80, 80);
    rows.leaveBefore(80);
    expect(written).toEqual(['90#0', '80#1', '80#2']);
    take(80, 70);
    expect(written).toHaveLength(4);
    expect(rows.figures(false)).toMatchObject({ received: 5, written: 4, left: 1, oldestMs: 70 });
  });

  test('comes too late for what is older', () => {
    const { rows, take } = rowsOf('oldest');
    take(90, 80);
    expect(() => rows.leaveBefore(81)).toThrow(expect.objectContaining({ code: 'bug.assertion' }));
  });

  test('that is known before holds nothing back', () => {
    const { written, take, rows } = rowsOf({ beforeMs: 80 });
    take(90, 80, 79, 79);
    expect(written).toEqual(['90#0', '80#1']);
    expect(rows.figures(false)).toMatchObject({ written: 2, left: 2 });
  });
});

describe('rows that come together', () => {
  /** Times mostly descending; some rows are repeated, and some lie outside the interval. */
  const times = fc
    .array(fc.record({ timeMs: fc.integer({ min: -1, max: 6 }), again: fc.nat(9) }), { maxLength: 40 })
    .chain((drawn) =>
      fc.boolean().map((isInOrder) => (isInOrder ? drawn.sort((left, right) => right.timeMs - left.timeMs) : drawn)),
    );
  const lefts = fc.constantFrom<RunTallyOptions['left']>('nothing', 'oldest', { beforeMs: 3 });
  const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 });

  function outcome(left: RunTallyOptions['left'], maxHeldBytes: number, feed: (rows: IntervalRows) => void) {
    const { written, files } = collect();
    const interval = { fromMs: 0, toMs: 6 };
    const tally = new RunTally({ interval, byReceiptTime: false, duplicates: new InOrder(), left, sliceMs: undefined });
    const rows = new IntervalRows(tally, files, maxHeldBytes);
    feed(rows);
    const { isSpilled, oldestMs } = rows;
    const figures = rows.figures(false);
    // Out-of-order rows are out of order in the files as well.
    const inOrder = () => (figures.isDisordered ? written.toSorted() : [...written]);
    const before = inOrder();
    rows.writeHeld();
    return { before, all: inOrder(), isSpilled, oldestMs, figures };
  }

  test('are written, held back and counted as if each came by itself', () => {
    fc.assert(
      fc.property(times, lefts, sizes, fc.integer({ min: 0, max: 30 }), (drawn, left, lengths, maxHeldBytes) => {
        const rows = drawn.map(({ timeMs, again }, index) => {
          const number = again === 0 && drawn[index - 1]?.timeMs === timeMs ? index - 1 : index;
          const bytes = Buffer.from(`${timeMs}#${number}`);
          return { bytes, messageTimeMs: timeMs, messageId: `${number}`, receiptTimeMs: undefined };
        });
        const alone = outcome(left, maxHeldBytes, (receiver) => {
          for (const row of rows) receiver.row(row);
        });
        const together = outcome(left, maxHeldBytes, (receiver) => {
          for (let from = 0, turn = 0; from < rows.length; turn++) {
            const to = from + (lengths[turn % lengths.length] as number);
            receiver.run(new GivenRows(rows.slice(from, to)));
            from = to;
          }
        });
        expect(together).toEqual(alone);
      }),
      { numRuns: 2_000 },
    );
  });
});
