/** One line of a log file: a JSON object with `_raw`, `_messagetime` and other, optional fields. */
import { isRecord } from '../../../src/base/record.ts';
import { latestDateMs } from '../../../src/base/time-units.ts';
import { messageField } from '../../query/message-fields.ts';
import { type JsonMember, scanObject } from './json-members.ts';

export interface LogLine {
  readonly messageTimeMs: number;
  /** Receipt time. Default: the message time. */
  readonly receiptTimeMs: number;
  /** Values of the standard fields, including `_raw`, by field name. */
  readonly given: ReadonlyMap<string, string>;
  /** Values of all other fields, by name. */
  readonly others: ReadonlyMap<string, string>;
}

/** A problem with a line in a log file. `column` is counted from 1. */
export interface LineProblem {
  readonly column: number;
  readonly text: string;
}

const example = '{"_raw":"GET /index.html 200","_messagetime":1767225600000}';
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const ids: ReadonlySet<string> = new Set(['_messageid', '_sourceid', '_collectorId', '_blockid']);
const counts: ReadonlySet<string> = new Set(['_size', '_messagecount']);

/** Parses a line. `text` does not contain a line feed. */
export function parseLogLine(text: string): LogLine | LineProblem {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalidJson(text);
  }
  if (!isRecord(value)) {
    return { column: 1, text: `the line is not a JSON object; write one, such as ${example}` };
  }
  return new LineReader(text, value).read();
}

function invalidJson(text: string): LineProblem {
  const scan = scanObject(text);
  if ('members' in scan) return { column: 1, text: `the line is not JSON; write an object, such as ${example}` };
  const found = scan.at < text.length ? `not ${text.charAt(scan.at)}` : 'not the end of the line';
  return { column: scan.at + 1, text: `the line is not JSON; write ${scan.expected} here, ${found}` };
}

class LineReader {
  readonly #text: string;
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #given = new Map<string, string>();
  readonly #others = new Map<string, string>();
  readonly #times = new Map<string, number>();
  #members: readonly JsonMember[] | undefined;

  constructor(text: string, value: Readonly<Record<string, unknown>>) {
    this.#text = text;
    this.#value = value;
  }

  read(): LogLine | LineProblem {
    for (const [name, value] of Object.entries(this.#value)) {
      const field = messageField(name)?.name;
      if (field === undefined) {
        this.#others.set(name, this.#textOf(name, value));
        continue;
      }
      const problem = this.#readField(name, field, value);
      if (problem !== undefined) return { column: this.#columnOf(name), text: `${name} ${problem}` };
    }
    const messageTimeMs = this.#times.get('_messagetime');
    if (messageTimeMs === undefined) {
      return { column: 1, text: '_messagetime is missing; set it to ms since the epoch, or to a time with an offset' };
    }
    if (!this.#given.has('_raw')) return { column: 1, text: '_raw is missing; set it to the text of the message' };
    const receiptTimeMs = this.#times.get('_receipttime') ?? messageTimeMs;
    return { messageTimeMs, receiptTimeMs, given: this.#given, others: this.#others };
  }

  /** Reads a field. Returns the problem and its remedy if the field is invalid. */
  #readField(name: string, field: string, value: unknown): string | undefined {
    if (field === '_messagetime' || field === '_receipttime') {
      const timeMs = timeOf(value);
      if (timeMs === undefined) {
        return 'is not a time; use ms since the epoch, or a time with an offset, such as 2026-01-01T00:00:00Z';
      }
      this.#times.set(field, timeMs);
      return undefined;
    }
    if (field === '_raw' && typeof value !== 'string') return 'is not a string; put the message in double quotes';
    const text = this.#textOf(name, value);
    if (ids.has(field) && text !== '' && !isLong(text)) {
      return 'is not an id; use a 64-bit integer, such as -6917529027641081856';
    }
    if (counts.has(field) && !/^\d{0,15}$/.test(text)) return 'is not a count; use a whole number, such as 120';
    this.#given.set(field, text);
    return undefined;
  }

  /** Returns a field value as a string. Numbers and nested values keep their JSON notation. */
  #textOf(name: string, value: unknown): string {
    switch (typeof value) {
      case 'string':
        return value;
      case 'boolean':
        return String(value);
      case 'number':
        return Number.isSafeInteger(value) ? String(value) : this.#written(name);
      default:
        return value === null ? '' : this.#written(name);
    }
  }

  #written(name: string): string {
    const member = this.#member(name);
    return member ? this.#text.slice(member.start, member.end) : JSON.stringify(this.#value[name]);
  }

  #columnOf(name: string): number {
    return (this.#member(name)?.start ?? 0) + 1;
  }

  /**
   * Returns the member with the given name. If the name occurs more than once, the last member is used, as in
   * JSON.parse.
   */
  #member(name: string): JsonMember | undefined {
    if (!this.#members) {
      const scan = scanObject(this.#text);
      this.#members = 'members' in scan ? scan.members : [];
    }
    return this.#members.findLast((member) => member.name === name);
  }
}

function timeOf(value: unknown): number | undefined {
  if (typeof value === 'string' && isoTime.test(value)) {
    const timeMs = Date.parse(value);
    return Number.isNaN(timeMs) ? undefined : timeMs;
  }
  if (typeof value === 'string' && !/^-?\d{1,16}$/.test(value)) return undefined;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const timeMs = Number(value);
  return Number.isInteger(timeMs) && Math.abs(timeMs) <= latestDateMs ? timeMs : undefined;
}

function isLong(text: string): boolean {
  return /^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}
