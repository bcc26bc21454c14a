/** Splits a random page into chunks in several ways, and compares the scanner with the reference reader. */
import { isDeepStrictEqual } from 'node:util';
import { PageError } from '../../../src/service/pages/page-content.ts';
import { type PageEnd, PageScanner } from '../../../src/service/pages/page-scanner.ts';
import { Chance } from '../../simulation/chance.ts';
import { damage } from './damage.ts';
import { drawPage } from './page-text.ts';
import { type Reference, type ReferenceRow, readReference } from './reference.ts';

/** Offsets at which a page is split into chunks, in ascending order. */
export type Cuts = readonly number[];

interface ScannedRow extends Omit<ReferenceRow, 'start' | 'end'> {
  readonly bytes: Buffer;
  /** Number of rows that the scanner has counted before this row. */
  readonly rowsBefore: number;
}

export interface PageScan {
  readonly rows: readonly ScannedRow[];
  readonly counted: number;
  readonly end?: PageEnd;
  readonly error?: unknown;
}

/**
 * Scans a page in chunks. Each chunk lies between other data, and is overwritten after the scan. A scanner that reads
 * outside its chunk therefore gets wrong results.
 */
export function scan(page: Buffer, cuts: Cuts): PageScan {
  const rows: ScannedRow[] = [];
  const scanner = new PageScanner({
    row({ bytes, messageTimeMs, messageId, receiptTimeMs, size }) {
      const values = { messageTimeMs, messageId, receiptTimeMs, size };
      rows.push({ ...values, bytes: Buffer.from(bytes), rowsBefore: scanner.rows });
    },
  });
  const memory = Buffer.alloc(page.length + 16, '"');
  try {
    let from = 0;
    for (const to of [...cuts, page.length]) {
      const askew = 1 + (from % 7);
      memory.set(page.subarray(from, to), askew);
      scanner.write(memory.subarray(askew, askew + to - from));
      memory.fill('"', askew, askew + to - from);
      from = to;
    }
    return { rows, counted: scanner.rows, end: scanner.end() };
  } catch (error) {
    return { rows, counted: scanner.rows, error };
  }
}

/** Returns one sentence for each difference between the scanner and the reference reader. */
export function differences(page: Buffer, reference: Reference, { rows, counted, end, error }: PageScan): string[] {
  const { wrongAt } = reference;
  const found: string[] = [];
  if (error !== undefined && !(error instanceof PageError)) return [`broke off: ${(error as Error).stack}`];
  if (error?.offset !== wrongAt) found.push(`wrong at ${error?.offset} (${error?.message}) instead of ${wrongAt}`);
  if (rows.length !== reference.rows.length) found.push(`${rows.length} rows instead of ${reference.rows.length}`);
  if (counted !== rows.length) found.push(`${counted} rows counted, ${rows.length} given out`);
  for (const [index, { start, end: rowEnd, ...values }] of reference.rows.entries()) {
    const row = rows[index];
    if (!row) break;
    const expected = { ...values, bytes: Buffer.from(page.subarray(start, rowEnd)), rowsBefore: index };
    if (!isDeepStrictEqual(row, expected)) found.push(`row ${index}: ${render(row)} instead of ${render(expected)}`);
  }
  if (end && !error) {
    const { warning, fields } = reference;
    const expected = { rows: reference.rows.length, warning, fields, bytes: page.length };
    if (!isDeepStrictEqual(end, expected)) found.push(`${JSON.stringify(end)} instead of ${JSON.stringify(expected)}`);
  }
  return found;
}

function render({ bytes, ...values }: ScannedRow): string {
  return `${JSON.stringify(values)} ${JSON.stringify(bytes.toString('latin1'))}`;
}

export interface TrialResult {
  readonly page: Buffer;
  readonly isPage: boolean;
  readonly rows: number;
  /** Messages about differences between the scanner's and the reference reader's results. */
  readonly violations: readonly string[];
}

/** The same seed always produces the same case. */
export function runTrial(seed: number): TrialResult {
  const chance = new Chance(seed);
  const drawn = Buffer.from(drawPage(chance), 'latin1');
  const page = chance.happens(0.5) ? damage(chance, drawn) : drawn;
  const reference = readReference(page);
  const result = { page, isPage: reference.wrongAt === undefined, rows: reference.rows.length };
  if (reference.disagreement !== undefined) return { ...result, violations: [`oracles: ${reference.disagreement}`] };
  const violations = drawCuttings(chance, page.length).flatMap((cuts) =>
    differences(page, reference, scan(page, cuts)).map((difference) => `cut at ${JSON.stringify(cuts)}: ${difference}`),
  );
  return { ...result, violations };
}

function drawCuttings(chance: Chance, length: number): Cuts[] {
  const size = chance.whole(1, chance.happens(0.8) ? 20 : 6_000);
  const some = Array.from({ length: chance.whole(1, 6) }, () => chance.whole(0, length));
  return [
    [],
    everyNth(length < 600 ? 1 : 97, length),
    everyNth(size, length),
    some.sort((left, right) => left - right),
  ];
}

export function everyNth(size: number, length: number): Cuts {
  const cuts: number[] = [];
  for (let cut = size; cut < length; cut += size) cuts.push(cut);
  return cuts;
}
