/**
 * Mutants of the page scanner. Each mutant has one wrong expression. Tests with random pages must detect every mutant.
 */

export interface ScannerMutant {
  readonly name: string;
  /** Path of the changed file, relative to `src/`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

function mutantsOf(
  file: string,
  list: readonly (readonly [name: string, find: string, replace: string])[],
): ScannerMutant[] {
  return list.map(([name, find, replace]) => ({ name, file, find, replace }));
}

export const mutants: readonly ScannerMutant[] = [
  ...mutantsOf('base/json-bytes.ts', [
    ['a control character in a string is accepted', '(controls - 0x21212121)', '(controls - 0x20202020)'],
    ['a backslash is not detected', 'word ^ 0x5c5c5c5c', 'word ^ 0x5d5d5d5d'],
    ['a control character at the end of the bytes is accepted', 'byte >= 0x20', 'byte >= 0x1f'],
    [
      'the last of four marked bytes is used instead of the first',
      '31 - Math.clz32(marks & -marks)',
      '31 - Math.clz32(marks)',
    ],
    ['the second four bytes are treated as the first four', 'at + 4 + indexOfMark(second)', 'at + indexOfMark(second)'],
    [
      'bytes after the end are read',
      'const last = end - 8; at <= last; at += 8',
      'const last = end - 4; at <= last; at += 8',
    ],
    ['an escape sequence has only one byte', 'at += 2;', 'at += 1;'],
    ['hexadecimal digits of an escape sequence are not checked', 'areHexDigits(bytes, at + 2)', 'true'],
    ['one hexadecimal digit is refused', '0123456789abcdefABCDEF', '0123456789abcdefABCDE'],
    ['one escape sequence is refused', 'bfnrt', 'bfnr'],
    ['a line feed is not whitespace', "' \\t\\n\\r'", "' \\t\\r'"],
  ]),
  ...mutantsOf('service/json/json-reader.ts', [
    [
      'a number may begin with zeros',
      'if ((yield* this.#byte()) === char.zero) this.at++;\n    else yield* this.#digits();',
      'yield* this.#digits();',
    ],
    ['a fraction without digits is accepted', "throw this.#unexpected('a digit')", 'return'],
    ['an exponent with a plus sign is refused', 'sign === char.plus || ', ''],
    ['a number ends with its chunk', 'if (this.at < this.end) return;', 'return;'],
    ['a string ends with its chunk', 'yield;\n        continue;', 'return;'],
    ['an escape sequence has three hexadecimal digits', 'byte === char.u ? 4 : 0', 'byte === char.u ? 3 : 0'],
    [
      'an object or array may end after a comma',
      'yield;\n    }\n    this.#isFirst = false;',
      'yield;\n      this.#isFirst = true;\n      return yield* this.next(keeps);\n    }\n    this.#isFirst = false;',
    ],
    ['an array may end with a brace', 'byte === form.end', 'byte === char.arrayEnd || byte === char.objectEnd'],
    ['an incomplete page is accepted', 'isDone = false;', 'isDone = true;'],
    ['the position of a token is not adjusted to the next chunk', 'this.start += this.#base - base;', ''],
    [
      'the position of a divided row is not adjusted to the next chunk',
      'if (this.kept >= 0) this.kept += this.#base - base;',
      '',
    ],
    [
      'letters of a literal are not checked',
      'if ((yield* this.#byte()) !== literal.charCodeAt(place)) throw this.#unexpected();',
      'yield* this.#byte();',
    ],
    ['a member without a colon is accepted', 'if (this.bytes[this.at] !== char.colon) throw this.#unexpected();', ''],
    [
      'a skipped object or array ends at its first byte',
      'if (isContainer(yield* this.value())) yield* this.skipRest();',
      'yield* this.value();',
    ],
    ['half of a byte order mark is accepted', 'else if (place === 0)', 'else if (true)'],
    ['a byte order mark is refused', 'byteOrderMark.entries()', '[].entries()'],
  ]),
  ...mutantsOf('service/pages/page-content.ts', [
    [
      'the start of a divided name is lost',
      'while (yield* reader.next(true)) {\n        if',
      'while (yield* reader.next()) {\n        if',
    ],
    [
      'the start of a divided warning is lost',
      "const kind = yield* reader.value(true);\n    if (kind !== 'null') this.#expect('string', kind);",
      "const kind = yield* reader.value();\n    if (kind !== 'null') this.#expect('string', kind);\n    reader.kept = reader.start;",
    ],
    ['a page without messages is accepted', 'if (!hasMessages) throw', 'if (false) throw'],
    ['messages may occur twice', 'if (hasMessages) throw', 'if (false) throw'],
    ['an element without a map is accepted', 'if (!this.#hasMap) throw', 'if (false) throw'],
    ['map may occur twice', 'else if (this.#hasMap) throw', 'else if (false) throw'],
    ['the map of an earlier element counts for later elements', 'this.#hasMap = false;', ''],
    ['escape sequences in names are not decoded', 'if (!hasEscape) return', 'if (true) return'],
    ['a row ends at a nested value', 'if (isContainer(kind)) yield* reader.skipRest();', ''],
    ['fields are not checked', 'decodePageFields(value)', 'value as readonly PageField[]'],
    ['the first of two warnings counts', 'this.warning = (', 'this.warning ??= ('],
    ['null does not replace an earlier warning', '?? undefined', '?? this.warning'],
    [
      'a row is counted before the sink has accepted it',
      'this.#sink.row(this.#fieldsOfRow.read(bytes, kept, end, this.#errorInRow));\n    this.rows++;',
      'const one = this.#fieldsOfRow.read(bytes, kept, end, this.#errorInRow);\n    this.rows++;\n    this.#sink.row(one);',
    ],
    ['values of the previous row remain', 'this.#fieldsOfRow.begin();', ''],
  ]),
  ...mutantsOf('service/pages/row-finder.ts', [
    ['the distance between two rows is one byte too small', 'betweenRows.length - 2', 'betweenRows.length - 3'],
    ['the text between rows is not checked', ' && occursAt(bytes, at, betweenRows)', ''],
    ['members without a comma are accepted', '(member > 0 && bytes[at] !== char.comma)', 'false'],
    ['names without a colon are accepted', ' || bytes[nameEnd + 1] !== char.colon', ''],
    ['names without quotes are accepted', 'bytes[name] !== char.quote || ', ''],
    ['values other than strings are treated as strings', ' || bytes[nameEnd + 2] !== char.quote', ''],
    ['a value without an end is accepted', 'if (close < 0) break;', ''],
    ['a stopped row continues one byte too late', 'this.stoppedAt = at;', 'this.stoppedAt = at + 1;'],
    ['a stopped row continues at its first name', 'this.#nextMember = member + 1;', 'this.#nextMember = 0;'],
    [
      'names are not compared with those of the previous row',
      ' || !isRepeated(nameView, member * maxNameBytes, view, at, length)',
      '',
    ],
    ['only the ends of names are compared', 'place < last; place += 4', 'place < 0; place += 4'],
    [
      'the ends of names are not compared',
      'return names.getInt32(nameAt + last) === view.getInt32(at + last)',
      'return true',
    ],
    ['the fields of the first row are used for all rows', 'this.#named[member] = this', 'this.#named[member] ??= this'],
  ]),
  ...mutantsOf('service/pages/page-row.ts', [
    ['names with capital letters are not found', '.toLowerCase()', ''],
    [
      'the first of two equal members counts',
      'this.kind = kind;',
      'if (this.kind !== undefined) return;\n    this.kind = kind;',
    ],
    ['escape sequences in values are not decoded', '(JSON.parse(value) as string)', 'value.slice(1, -1)'],
    ['numbers are ignored', "if (this.kind === 'number') return value;", ''],
    ['a negative size is accepted', 'amount !== undefined && amount >= 0', 'amount !== undefined'],
    ['the largest id is refused', 'return order <= 0;', 'return order < 0;'],
    ['ids with more than 64 bits are accepted', 'return order <= 0;', 'return true;'],
    ['the minimum id is the negated maximum', 'isNegative ? smallest : largest', 'largest'],
    ['ids may have letters', 'byte < char.zero || byte > char.nine', 'byte < char.zero'],
    ['sizes may be inexact', 'Number.isSafeInteger(whole)', 'Number.isInteger(whole)'],
    ['times may be later than any date', ' && Math.abs(instantMs) <= latestDateMs', ''],
    ['times with more than 15 digits are rounded', 'const maxDigits = 15;', 'const maxDigits = 25;'],
    ['an empty time is zero', 'end - start > maxDigits || end === start', 'end - start > maxDigits'],
    [
      'an invalid receipt time counts as absent',
      'if (read.receiptTimeMs === undefined && !this.#receiptTime.isAbsent)',
      'if (false)',
    ],
  ]),
  ...mutantsOf('service/pages/page-scanner.ts', [
    ['a divided row ends with the next bytes', 'this.#reader.kept === 0', 'false'],
    [
      'chunks are referenced instead of copied',
      'chunk.copy(this.#carry, 0, from);',
      'this.#carry = chunk.subarray(from);',
    ],
    ['stored bytes are lost when the buffer grows', 'this.#carry.copy(larger, 0, 0, this.#carried);', ''],
    ['offsets are counted from the start of the chunk', 'this.#received += chunk.length;', ''],
  ]),
];
