/**
 * Mutants of the page scanner. In each mutant, one expression is wrong, and tests with random pages must detect the
 * error.
 */

export interface ScannerMutant {
  readonly name: string;
  /** Path of the changed file below `src/`. */
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
    ['a control character passes', '(controls - 0x21212121)', '(controls - 0x20202020)'],
    ['a backslash passes', 'word ^ 0x5c5c5c5c', 'word ^ 0x5d5d5d5d'],
    ['one passes at the end of the bytes', 'byte >= 0x20', 'byte >= 0x1f'],
    ['the last of four marks is believed', '31 - Math.clz32(marks & -marks)', '31 - Math.clz32(marks)'],
    ['the second four bytes are taken for the first', 'at + 4 + indexOfMark(second)', 'at + indexOfMark(second)'],
    [
      'bytes behind the end are read',
      'const last = end - 8; at <= last; at += 8',
      'const last = end - 4; at <= last; at += 8',
    ],
    ['an escape is one byte long', 'at += 2;', 'at += 1;'],
    ['digits of an escape are not looked at', 'areHexDigits(bytes, at + 2)', 'true'],
    ['one hexadecimal digit is not known', '0123456789abcdefABCDEF', '0123456789abcdefABCDE'],
    ['one escape is not known', 'bfnrt', 'bfnr'],
    ['a line feed is no space', "' \\t\\n\\r'", "' \\t\\r'"],
  ]),
  ...mutantsOf('service/json/json-reader.ts', [
    [
      'a number may begin with zeros',
      'if ((yield* this.#byte()) === char.zero) this.at++;\n    else yield* this.#digits();',
      'yield* this.#digits();',
    ],
    ['a fraction needs no digit', "throw this.#unexpected('a digit')", 'return'],
    ['an exponent has no plus', 'sign === char.plus || ', ''],
    ['digits are not read on in the next chunk', 'if (this.at < this.end) return;', 'return;'],
    [
      'a string ends with its chunk',
      'while (this.at === this.end) yield;\n      const byte',
      'if (this.at === this.end) return;\n      const byte',
    ],
    ['an escape has three digits', 'byte === char.u ? 4 : 0', 'byte === char.u ? 3 : 0'],
    [
      'an object or array may end after a comma',
      'yield;\n    }\n    this.#isFirst = false;',
      'yield;\n      this.#isFirst = true;\n      return yield* this.next(keeps);\n    }\n    this.#isFirst = false;',
    ],
    ['an array may end as an object', 'byte === form.end', 'byte === char.arrayEnd || byte === char.objectEnd'],
    ['a page may end anywhere', 'isDone = false;', 'isDone = true;'],
    ['tokens stay where they were in the chunk before', 'this.start += this.#base - base;', ''],
    ['a cut row stays where it was', 'if (this.kept >= 0) this.kept += this.#base - base;', ''],
    [
      'letters of a literal are not looked at',
      'if ((yield* this.#byte()) !== literal.charCodeAt(place)) throw this.#unexpected();',
      'yield* this.#byte();',
    ],
    ['a member needs no colon', 'if (this.bytes[this.at] !== char.colon) throw this.#unexpected();', ''],
    [
      'what is skipped ends at once',
      'if (isContainer(yield* this.value())) yield* this.skipRest();',
      'yield* this.value();',
    ],
    ['half a byte order mark passes', 'else if (place === 0)', 'else if (true)'],
    ['a byte order mark is refused', 'byteOrderMark.entries()', '[].entries()'],
  ]),
  ...mutantsOf('service/pages/page-content.ts', [
    [
      'a cut name is not kept',
      'while (yield* reader.next(true)) {\n        if',
      'while (yield* reader.next()) {\n        if',
    ],
    [
      'a cut warning is not kept',
      "const kind = yield* reader.value(true);\n    if (kind !== 'null') this.#expect('string', kind);",
      "const kind = yield* reader.value();\n    if (kind !== 'null') this.#expect('string', kind);\n    reader.kept = reader.start;",
    ],
    ['a page needs no messages', 'if (!hasMessages) throw', 'if (false) throw'],
    ['messages may come twice', 'if (hasMessages) throw', 'if (false) throw'],
    ['an element needs no map', 'if (!this.#hasMap) throw', 'if (false) throw'],
    ['map may come twice', 'else if (this.#hasMap) throw', 'else if (false) throw'],
    ['map is known from element to element', 'this.#hasMap = false;', ''],
    ['escapes in names are text', 'if (!hasEscape) return', 'if (true) return'],
    ['nested values end a row', 'if (isContainer(kind)) yield* reader.skipRest();', ''],
    ['fields may be anything', 'decodePageFields(value)', 'value as readonly PageField[]'],
    ['the first warning counts', 'this.warning = (', 'this.warning ??= ('],
    ['null warns', '?? undefined', '?? this.warning'],
    [
      'a row is counted before it is taken',
      'this.#sink.row(this.#fieldsOfRow.read(bytes, kept, end, this.#errorInRow));\n    this.rows++;',
      'const one = this.#fieldsOfRow.read(bytes, kept, end, this.#errorInRow);\n    this.rows++;\n    this.#sink.row(one);',
    ],
    ['values of the row before stay', 'this.#fieldsOfRow.begin();', ''],
  ]),
  ...mutantsOf('service/pages/row-finder.ts', [
    ['rows are nearer to each other', 'betweenRows.length - 2', 'betweenRows.length - 3'],
    ['anything may be between rows', ' && standsAt(bytes, at, betweenRows)', ''],
    ['members need no comma', '(member > 0 && bytes[at] !== char.comma)', 'false'],
    ['names need no colon', ' || bytes[nameEnd + 1] !== char.colon', ''],
    ['names need no quotes', 'bytes[name] !== char.quote || ', ''],
    ['only strings are expected', ' || bytes[nameEnd + 2] !== char.quote', ''],
    ['a value may be cut', 'if (close < 0) break;', ''],
    ['a row is read on after the next byte', 'this.stoppedAt = at;', 'this.stoppedAt = at + 1;'],
    ['a row is read on at its first name', 'this.#nextMember = member + 1;', 'this.#nextMember = 0;'],
    ['names are not compared', ' || !isRepeated(nameView, member * maxNameBytes, view, at, length)', ''],
    ['only ends of names are compared', 'place < last; place += 4', 'place < 0; place += 4'],
    [
      'ends of names are not compared',
      'return names.getInt32(nameAt + last) === view.getInt32(at + last)',
      'return true',
    ],
    ['fields stay the ones of the first row', 'this.#named[member] = this', 'this.#named[member] ??= this'],
  ]),
  ...mutantsOf('service/pages/page-row.ts', [
    ['names in capitals are not known', '.toLowerCase()', ''],
    ['the first of two counts', 'this.kind = kind;', 'if (this.kind !== undefined) return;\n    this.kind = kind;'],
    ['escapes in values are text', '(JSON.parse(value) as string)', 'value.slice(1, -1)'],
    ['numbers are no values', "if (this.kind === 'number') return value;", ''],
    ['a size may be below zero', 'amount !== undefined && amount >= 0', 'amount !== undefined'],
    ['the largest id is refused', 'return order <= 0;', 'return order < 0;'],
    ['ids beyond 64 bits pass', 'return order <= 0;', 'return true;'],
    ['the least id is the largest with a sign', 'isNegative ? smallest : largest', 'largest'],
    ['ids may have letters', 'byte < char.zero || byte > char.nine', 'byte < char.zero'],
    ['times may be inexact', 'Number.isSafeInteger(instantMs)', 'Number.isInteger(instantMs)'],
    ['times beyond 15 digits are summed up', 'const maxDigits = 15;', 'const maxDigits = 25;'],
    ['an empty time is zero', 'end - start > maxDigits || end === start', 'end - start > maxDigits'],
    [
      'a wrong time of receipt is none',
      'if (read.receiptTimeMs === undefined && !this.#receiptTime.isAbsent)',
      'if (false)',
    ],
  ]),
  ...mutantsOf('service/pages/page-scanner.ts', [
    ['a cut row is complete with the next bytes', 'this.#reader.kept === 0', 'false'],
    ['chunks are kept instead of copied', 'chunk.copy(this.#carry, 0, from);', 'this.#carry = chunk.subarray(from);'],
    ['what is kept is lost as it grows', 'this.#carry.copy(larger, 0, 0, this.#carried);', ''],
    ['offsets count from the chunk', 'this.#received += chunk.length;', ''],
  ]),
];
