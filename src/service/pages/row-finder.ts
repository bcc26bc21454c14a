/**
 * Reads rows of the usual form `{"map":{"name":"value",…}}` faster than `json-reader.ts`, which reads all other fields.
 * Most rows have the same field names as an earlier row, so field names are compared with the names in that row instead
 * of being parsed again.
 */
import { char, occursAt, plainEnd, stringEnd } from '../../base/json-bytes.ts';
import type { FieldValue, RowFields } from './page-row.ts';

/** Text between two rows. */
const betweenRows = Buffer.from('}},{"map":{');
/** Length, in bytes, of the text between two rows. */
export const rowGap: number = betweenRows.length - 2;

const maxMembers = 128;
const maxNameBytes = 128;

export class RowFinder {
  /** Index at which `find` stopped in a row, which is just after the last field that `find` read. */
  stoppedAt = 0;
  readonly #fields: RowFields;
  /** Bytes before the value of each field in an earlier row, such as `,"name":"`. */
  readonly #names = Buffer.allocUnsafeSlow(maxMembers * maxNameBytes);
  readonly #nameView = new DataView(this.#names.buffer);
  /** Length, in bytes, of each text in `#names`. 0 if no text is stored at this index. */
  readonly #nameLengths = new Uint8Array(maxMembers);
  /**
   * Value that `RowFields` decodes from each field of a row, such as the id. Undefined for fields that it does not
   * decode.
   */
  readonly #named: (FieldValue | undefined)[] = [];
  /** Index of the field that follows the field at which `find` stopped. */
  #nextMember = 0;

  constructor(fields: RowFields) {
    this.#fields = fields;
  }

  /**
   * Finds the known fields of the row that begins at `row`, and returns the index after the row. `from` is the index of
   * the first byte of the row that has not been read yet. `view` must cover the same bytes as `bytes`.
   *
   * Returns -1 at a field that has an unusual form or continues beyond `end`. The JSON reader must then read this
   * field, which begins at `stoppedAt`.
   */
  find(bytes: Buffer, view: DataView, row: number, from: number, end: number): number {
    const nameView = this.#nameView;
    const nameLengths = this.#nameLengths;
    let at = from;
    let member = at === row + 1 ? 0 : this.#nextMember;
    for (; member < maxMembers; member++) {
      const length = nameLengths[member] as number;
      let text = at + length;
      if (length === 0 || text > end || !isRepeated(nameView, member * maxNameBytes, view, at, length)) {
        if (at + betweenRows.length <= end && occursAt(bytes, at, betweenRows)) return at + 1;
        text = this.#learnName(bytes, view, member, at, end);
      }
      const close = text < 0 ? -1 : stringEnd(bytes, view, text, end);
      if (close < 0) break;
      this.#named[member]?.set('string', text - 1 - row, close + 1 - row);
      at = close + 1;
    }
    this.stoppedAt = at;
    this.#nextMember = member + 1;
    return -1;
  }

  /**
   * Stores the name of a row's field for use with later rows. Returns the index at which the text of the field's value
   * starts, or -1 if the value is not a string.
   */
  #learnName(bytes: Buffer, view: DataView, member: number, at: number, end: number): number {
    const name = member === 0 ? at : at + 1;
    if (bytes[name] !== char.quote || (member > 0 && bytes[at] !== char.comma)) return -1;
    const nameEnd = plainEnd(bytes, view, name + 1, end);
    const text = nameEnd + 3;
    if (text > end || text - at > maxNameBytes) return -1;
    if (bytes[nameEnd] !== char.quote || bytes[nameEnd + 1] !== char.colon || bytes[nameEnd + 2] !== char.quote)
      return -1;
    bytes.copy(this.#names, member * maxNameBytes, at, text);
    this.#nameLengths[member] = text - at;
    this.#named[member] = this.#fields.named(bytes, name + 1, nameEnd);
    return text;
  }
}

/**
 * Reports whether `length` bytes of `names` at index `nameAt` equal the bytes of `view` at index `at`. `length` must be
 * at least 4.
 */
function isRepeated(names: DataView, nameAt: number, view: DataView, at: number, length: number): boolean {
  const last = length - 4;
  for (let place = 0; place < last; place += 4) {
    if (names.getInt32(nameAt + place) !== view.getInt32(at + place)) return false;
  }
  return names.getInt32(nameAt + last) === view.getInt32(at + last);
}
