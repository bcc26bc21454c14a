/** Log data from NDJSON files. Each line is one message. Missing fields get default values. */
import { Buffer } from 'node:buffer';
import { LogfleetError } from '../../../src/base/errors.ts';
import { messageFields } from '../../query/message-fields.ts';
import type { FieldDescriptor } from '../../query/row.ts';
import { DataSearch } from '../data-search.ts';
import { type FieldCase, spelt, speltFields } from '../field-case.ts';
import type { LogData } from '../log-data.ts';
import { MessageFinder } from '../message-finder.ts';
import { filledIn } from './filled-line.ts';
import { type LogLine, parseLogLine } from './log-line.ts';
import { StoredRowsBuilder } from './stored-rows.ts';

/**
 * Error for invalid lines in log files. The error message has one line for each invalid line: `file:line:column:
 * problem; remedy`.
 */
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

/** Maximum number of problems reported. */
const maxProblems = 20;
const lineFeed = 0x0a;

export class LogFiles {
  readonly #fieldCase: FieldCase;
  readonly #rows = new StoredRowsBuilder();
  /** Names of all non-standard fields, in the order in which they first occur in the files. */
  readonly #others = new Set<string>();
  readonly #problems: string[] = [];

  constructor(fieldCase: FieldCase = 'specified') {
    this.#fieldCase = fieldCase;
  }

  /** Adds a log file chunk by chunk. `file` is the file name shown in error messages. */
  add(file: string, pieces: Iterable<Uint8Array>): void {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let number = 0;
    for (const line of linesOf(pieces)) {
      number++;
      if (this.#problems.length >= maxProblems) return;
      let text: string;
      try {
        text = decoder.decode(line);
      } catch {
        this.#problems.push(`${file}:${number}:1: the line is not UTF-8; save the file as UTF-8`);
        continue;
      }
      if (text.trim() === '') continue;
      const parsed = parseLogLine(text);
      if ('column' in parsed) this.#problems.push(`${file}:${number}:${parsed.column}: ${parsed.text}`);
      else this.#store(parsed, file, number);
    }
  }

  /** Returns the messages of all added files. Throws `LogFileError` if a line is invalid. */
  data(): LogData {
    if (this.#problems.length > 0) throw new LogFileError(this.#problems);
    const rows = this.#rows.build();
    const others = [...this.#others].map((name): FieldDescriptor => ({ name, fieldType: 'string', keyField: false }));
    return {
      fields: [...speltFields(this.#fieldCase), ...others],
      search: (range, filter, maxExamined = Number.POSITIVE_INFINITY) =>
        new DataSearch(rows, range, new MessageFinder(rows, rows.ordered(range), range, filter, maxExamined)),
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

/**
 * Yields the lines of a file without their line feeds. The line feed at the end of the last line is optional. A
 * carriage return before a line feed is kept. It does no harm, because JSON parsers ignore it.
 */
function* linesOf(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let begun: Uint8Array[] = [];
  for (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, start)) {
      yield joined([...begun, piece.subarray(start, end)]);
      begun = [];
      start = end + 1;
    }
    if (start < piece.length) begun.push(new Uint8Array(piece.subarray(start)));
  }
  if (begun.length > 0) yield joined(begun);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}
