/** Summarises the sizes and times of the messages in a data file. */
import { type MessageFigures, sumOfFigures } from './commit-record.ts';
import { type SliceFigures, SliceSums } from './slice-figures.ts';

export interface FileFigures extends MessageFigures {
  /** Message counts, sizes and times for each short period. Absent if any message has no time. */
  readonly slices?: readonly SliceFigures[];
}

/** Rows of a data file. */
export interface FileContent {
  readonly rows: number;
  /** Returns the message sizes and times. For a Parquet file, calls `again` to read the file a second time. */
  figures(again: () => AsyncIterable<Uint8Array>): Promise<FileFigures>;
}

/** Names of the columns that contain message sizes and times, in lower case. */
export const figureColumns = ['_size', '_messagetime'] as const;
export type FigureColumn = (typeof figureColumns)[number];

/** Summarises the sizes and times of a file's rows. */
export class FigureSum {
  readonly #slices: SliceSums;
  /** Sum of the sizes in bytes of the messages without a time. NaN if one of these messages has no size. */
  #bytesWithoutTime = 0;
  #hasTimes = true;

  constructor(sliceMs: number) {
    this.#slices = new SliceSums(sliceMs);
  }

  take(value: (name: FigureColumn) => unknown): void {
    const timeMs = wholeOf(value('_messagetime'));
    const whole = wholeOf(value('_size'));
    // A query can set `_size` to any value. A negative number is not a size.
    const size = whole !== undefined && whole >= 0 ? whole : undefined;
    if (timeMs !== undefined) {
      this.#slices.add(timeMs, size);
      return;
    }
    this.#hasTimes = false;
    this.#bytesWithoutTime += size ?? Number.NaN;
  }

  get figures(): FileFigures {
    const { slices } = this.#slices;
    const { bytes, ...times } = sumOfFigures([...slices, { bytes: this.#bytesWithoutTime }]);
    return {
      ...(bytes === undefined ? {} : { bytes }),
      ...(this.#hasTimes ? { ...times, slices } : {}),
    };
  }
}

/**
 * Matches a number in the form in which the service writes numbers. The export reads sizes and times in this form only,
 * so ` 5` and `0x10` are not numbers.
 */
const numberForm = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function wholeOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && numberForm.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}
