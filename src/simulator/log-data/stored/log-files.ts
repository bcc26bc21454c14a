/**
 * Log data out of files of NDJSON, one message a line (`log-line.ts`). What a line leaves out is filled in, the same for the same
 * files in the same order. Reading the files is left to the caller, who hands over their bytes as they come.
 */
import { Buffer } from 'node:buffer';
import { LogfleetError } from '../../../base/errors.ts';
import { messageFields } from '../../query/message-fields.ts';
import type { FieldDescriptor } from '../../query/row.ts';
import { type FieldCase, spelt, speltFields } from '../field-case.ts';
import type { LogData } from '../log-data.ts';
import { RowSearch } from '../row-search.ts';
import { filledIn } from './filled-line.ts';
import { type LogLine, parseLogLine } from './log-line.ts';
import { StoredOrder } from './stored-order.ts';
import { StoredRowsBuilder } from './stored-rows.ts';

/** Files with lines that are no messages: a line for each problem, `file:line:column: what is wrong; what to write`. */
export class LogFileError extends LogfleetError {
  override readonly name = 'LogFileError';

  constructor(lines: readonly string[]) {
    super({
      code: 'log-data.invalid',
      message: lines.join('\n'),
      handling: { kind: 'stall' },
      reason: 'InvalidLogData',
    });
  }
}

/** More than this are a sign of the wrong file, and help nobody. */
const mostProblems = 20;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export class LogFiles {
  readonly #fieldCase: FieldCase;
  readonly #rows = new StoredRowsBuilder();
  /** Of fields that 2.5 does not have, in the order in which they first came. */
  readonly #others = new Set<string>();
  readonly #problems: string[] = [];

  constructor(fieldCase: FieldCase = 'specified') {
    this.#fieldCase = fieldCase;
  }

  /** Takes a file in pieces that may end anywhere. `file` is what problems call it. */
  add(file: string, pieces: Iterable<Uint8Array>): void {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let number = 0;
    for (const line of linesOf(pieces)) {
      number++;
      if (this.#problems.length >= mostProblems) return;
      let text: string;
      try {
        text = decoder.decode(line);
      } catch {
        this.#problems.push(`${file}:${number}:1: the line is no UTF-8; write the file in UTF-8`);
        continue;
      }
      if (text.trim() === '') continue;
      const parsed = parseLogLine(text);
      if ('column' in parsed) this.#problems.push(`${file}:${number}:${parsed.column}: ${parsed.text}`);
      else this.#store(parsed, file, number);
    }
  }

  /** All that was added. Throws `LogFileError`. */
  data(): LogData {
    if (this.#problems.length > 0) throw new LogFileError(this.#problems);
    const rows = this.#rows.build();
    const others = [...this.#others].map((name): FieldDescriptor => ({ name, fieldType: 'string', keyField: false }));
    return {
      fields: [...speltFields(this.#fieldCase), ...others],
      search: (range, filter, mostLooks = Number.POSITIVE_INFINITY) =>
        new RowSearch(rows, new StoredOrder(rows, range.byReceiptTime), range, filter, mostLooks),
    };
  }

  #store(line: LogLine, file: string, number: number): void {
    const place = { file, number, index: this.#rows.rows };
    const values = new Map<string, string>();
    for (const { name } of messageFields) values.set(spelt(name, this.#fieldCase), filledIn(line, place, name));
    for (const [name, value] of line.others) {
      values.set(name, value);
      this.#others.add(name);
    }
    this.#rows.add({ messageTimeMs: line.messageTimeMs, receiptTimeMs: line.receiptTimeMs, values });
  }
}

/** The lines without their breaks, `\n` or `\r\n`; the last one may go without. */
function* linesOf(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let begun: Uint8Array[] = [];
  for (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, start)) {
      yield withoutReturn(joined([...begun, piece.subarray(start, end)]));
      begun = [];
      start = end + 1;
    }
    // A copy, since whoever reads the file may use its memory again.
    if (start < piece.length) begun.push(new Uint8Array(piece.subarray(start)));
  }
  if (begun.length > 0) yield withoutReturn(joined(begun));
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}

function withoutReturn(line: Uint8Array): Uint8Array {
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}
