/**
 * Generates random message result pages, some of them invalid. A page is a string in which each character stands for
 * one byte.
 */
import type { Chance } from '../../simulation/chance.ts';

/**
 * Probability (0 to 1) of an error at each place on a page. It is low, because the rest of a page is not read after the
 * first error.
 */
const rarely = 0.015;

export function drawPage(chance: Chance): string {
  const mark = chance.happens(2 * rarely) ? chance.one(['\xef\xbb\xbf', '\xef\xbb\xbf', '\xef\xbb', '\xef']) : '';
  const page = chance.happens(rarely) ? drawValue(chance, 2) : drawObject(chance, drawPageMembers(chance));
  return mark + space(chance) + page + space(chance);
}

type MemberText = readonly [name: string, value: string];

function drawPageMembers(chance: Chance): MemberText[] {
  const members: MemberText[] = [];
  if (!chance.happens(rarely)) members.push(['messages', drawMessages(chance)]);
  if (chance.happens(rarely)) members.push(['messages', drawMessages(chance)]);
  if (chance.happens(0.4)) members.push(['warning', mostly(chance, drawString, drawValue)]);
  if (chance.happens(0.4)) members.push(['fields', mostly(chance, drawFields, drawValue)]);
  if (chance.happens(0.1)) members.push(['warning', chance.one(['null', drawString(chance)])]);
  if (chance.happens(0.3)) members.push([drawText(chance), drawValue(chance, 3)]);
  return shuffled(chance, members);
}

function drawMessages(chance: Chance): string {
  if (chance.happens(0.05)) return chance.one(['null', '[]', '{}', '5', '"x"', 'true']);
  if (chance.happens(0.3)) return drawPlainMessages(chance);
  return drawArray(
    chance,
    times(chance, 4, () => mostly(chance, drawElement, drawValue)),
  );
}

/** Returns random rows, most of them in the form that the service usually sends. */
function drawPlainMessages(chance: Chance): string {
  const row = () => {
    const [time, receipt] = [1_788_000_000_000 + chance.whole(0, 3), 1_788_000_000_500 + chance.whole(0, 3)];
    const members = [
      `"_messagetime":"${time}"`,
      `"_messageid":"-${chance.whole(1, 1e15)}"`,
      `"_raw":${drawString(chance)}`,
    ];
    if (chance.happens(0.9)) members.push(`"_receipttime":"${receipt}"`);
    if (chance.happens(0.8)) members.push(`"_size":"${chance.one(['120', '0', '', '1.2E3', '-7', 'none'])}"`);
    return `{"map":{${shuffled(chance, members).join(',')}}}`;
  };
  const rows = Array.from({ length: chance.whole(1, 12) }, () => (chance.happens(0.04) ? drawElement(chance) : row()));
  return `[${rows.join(',')}]`;
}

function drawElement(chance: Chance): string {
  const members: MemberText[] = [];
  if (!chance.happens(rarely)) members.push(['map', drawMap(chance)]);
  if (chance.happens(rarely / 2)) members.push(['map', drawMap(chance)]);
  if (chance.happens(0.1)) members.push([drawText(chance), drawValue(chance, 2)]);
  if (chance.happens(rarely)) members.push(['Map', drawMap(chance)]);
  return drawObject(chance, shuffled(chance, members));
}

function drawMap(chance: Chance): string {
  if (chance.happens(rarely)) return drawValue(chance, 1);
  const members: MemberText[] = [];
  if (!chance.happens(rarely / 2)) members.push([anyCase(chance, '_messagetime'), drawTime(chance)]);
  if (!chance.happens(rarely / 2)) members.push([anyCase(chance, '_messageid'), drawId(chance)]);
  if (chance.happens(0.7)) members.push([anyCase(chance, '_receipttime'), drawReceiptTime(chance)]);
  if (chance.happens(0.1)) members.push([anyCase(chance, '_messagetime'), drawTime(chance)]);
  if (chance.happens(0.5)) members.push([anyCase(chance, '_size'), drawReceiptTime(chance)]);
  members.push(...times(chance, 4, () => drawOtherField(chance)));
  return drawObject(chance, shuffled(chance, members));
}

function drawOtherField(chance: Chance): MemberText {
  const name = chance.happens(0.7)
    ? chance.one([
        '_raw',
        '_collectorId',
        '_sourceName',
        '_messagecount',
        '_messagetim',
        '\x7fmessageid',
        '_receipttimes',
      ])
    : drawText(chance);
  if (chance.happens(rarely / 4)) return [chance.one(['a\x1f:"b', 'a\\:"b']), drawString(chance)];
  if (chance.happens(0.05)) return [name, '{"_messagetime":"9","_messageid":"8"}'];
  return [name, mostly(chance, drawString, drawValue)];
}

function drawTime(chance: Chance): string {
  const instant = String(chance.one([1_788_000_000_000, 0, 999_999_999_999_999, 5]) + chance.whole(0, 999));
  const written = chance.happens(0.9)
    ? instant
    : chance.one([
        `-${instant}`,
        '-0',
        '',
        '1.788E12',
        '1788000000000.0',
        '1e400',
        '12.5',
        ' 5',
        '5 ',
        '0x5',
        '1e3',
        '8640000000000001',
        '9007199254740993',
      ]);
  return drawNumeric(chance, written);
}

function drawReceiptTime(chance: Chance): string {
  return chance.happens(0.1) ? chance.one(['""', 'null', '"\\u0035"', 'false', '[5]']) : drawTime(chance);
}

function drawId(chance: Chance): string {
  const digits = chance.happens(0.2)
    ? chance.one([
        '9223372036854775807',
        '9223372036854775808',
        '9223372036854775806',
        '0',
        '-0',
        '',
        '-',
        '1.5',
        '12345678901234567890',
        '+5',
        '1e3',
        '5\n',
      ])
    : Array.from({ length: chance.whole(1, 19) }, () => chance.whole(0, 9)).join('');
  return drawNumeric(chance, chance.happens(0.5) ? `-${digits}` : digits);
}

/** Returns a number as JSON. In most cases, the number is in a JSON string, as in the service's responses. */
function drawNumeric(chance: Chance, text: string): string {
  if (chance.happens(0.1) && text !== '') return text;
  const written = chance.happens(0.05) ? escaped(chance, text) : text;
  if (chance.happens(rarely / 4)) return chance.one(noScalars);
  return chance.happens(rarely) ? drawValue(chance, 2) : `"${written}"`;
}

function drawFields(chance: Chance): string {
  const field = () =>
    drawObject(chance, [
      ['name', mostly(chance, drawString, drawValue)],
      ['fieldType', chance.one(['"long"', '"string"', 'null'])],
      ['keyField', chance.one(['true', 'false', 'null'])],
    ]);
  return chance.happens(0.05) ? 'null' : drawArray(chance, times(chance, 3, field));
}

function drawValue(chance: Chance, depth = 2): string {
  if (depth > 0 && chance.happens(0.4)) {
    if (chance.happens(0.5))
      return drawArray(
        chance,
        times(chance, 3, () => drawValue(chance, depth - 1)),
      );
    return drawObject(
      chance,
      times(chance, 3, () => [drawText(chance), drawValue(chance, depth - 1)]),
    );
  }
  if (chance.happens(0.5)) return drawString(chance);
  return chance.happens(0.05) ? chance.one(noScalars) : chance.one(scalars);
}

const scalars = [
  'true',
  'false',
  'null',
  '0',
  '-0',
  '12',
  '-3.25',
  '1e5',
  '2E-7',
  '0.5e+10',
  '0e0',
  '9007199254740993',
];
const noScalars = [
  '',
  '01',
  '-',
  '-a',
  '+1',
  '.5',
  '1.',
  '-2.e3',
  '1e',
  '1e+',
  '1e-',
  '0x1',
  'NaN',
  'tru',
  'nulL',
  'False',
  'truee',
  '}',
  ']',
];

function drawString(chance: Chance): string {
  return `"${drawText(chance)}"`;
}

const pieces = [
  'a',
  'GET /index.html 200 ',
  '\\"',
  '\\\\',
  '\\/\\b\\f\\n\\r\\t',
  '\\u0000',
  '\\u00e9\\uD83D\\uDE00',
  '\\u0123\\u4567\\u89ab\\ucdef\\uABCD\\uEF00',
  '\\ud800',
  '{"messages":[',
  '}]},:',
  '\x7f !#[]^',
  latin1('é'),
  latin1('漢字'),
  latin1('😀'),
  latin1('\ufeff\u2028'),
  '\xff',
  '\xc3',
  '\xe2\x82',
  '\xa2\xdc',
];
const quotesInText = /"/g;

/** Bytes and escape sequences that a JSON string must not contain. */
const mistakes = [
  '\x00',
  '\x1f',
  '\n',
  '"',
  '\\x',
  '\\',
  '\\U0041',
  '\\u',
  '\\u12',
  '\\u12g4',
  '\\u123',
  '\\u123_',
  '\\u 123',
];

/** Returns random valid content for a JSON string, without the quotes. */
function drawText(chance: Chance): string {
  if (chance.happens(0.3)) return chance.one(['map', 'messages', 'warning', 'fields', '_messageid', '', 'x']);
  let text = '';
  for (let left = chance.whole(0, 5); left > 0; left--) {
    const piece = chance.one(pieces);
    text += piece.startsWith('{') ? piece.replace(quotesInText, '\\"') : piece;
  }
  if (chance.happens(rarely / 4)) text += chance.one(mistakes) + chance.one(pieces);
  if (chance.happens(0.01)) text += 'long text '.repeat(chance.whole(1, 2_000));
  return chance.happens(0.2) ? text + '.'.repeat(chance.whole(0, 9)) : text;
}

function latin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function anyCase(chance: Chance, name: string): string {
  if (chance.happens(0.6)) return name;
  if (chance.happens(0.1)) return escaped(chance, name);
  return [...name].map((letter) => (chance.happens(0.2) ? letter.toUpperCase() : letter)).join('');
}

/** Replaces some characters in a text with JSON escape sequences. */
function escaped(chance: Chance, text: string): string {
  return [...text]
    .map((character) => {
      if (!chance.happens(0.3)) return character;
      return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
    })
    .join('');
}

function drawObject(chance: Chance, members: readonly MemberText[]): string {
  const tight = chance.happens(0.7);
  const gap = () => (tight ? '' : space(chance));
  const written = members.map(([name, value]) => `${gap()}"${name}"${gap()}:${gap()}${value}${gap()}`);
  const end = chance.happens(rarely / 8) ? chance.one([']', ',}', ',"x"}', '']) : '}';
  return `{${written.join(',')}${members.length === 0 ? gap() : ''}${end}`;
}

function drawArray(chance: Chance, items: readonly string[]): string {
  const gap = () => (chance.happens(0.8) ? '' : space(chance));
  const end = chance.happens(rarely / 4) ? chance.one(['}', ',]', '']) : ']';
  return `[${gap()}${items.map((item) => gap() + item + gap()).join(',')}${end}`;
}

function space(chance: Chance): string {
  return times(chance, 2, () => chance.one([' ', '\n', '\t', '\r'])).join('');
}

function mostly(
  chance: Chance,
  usual: (chance: Chance) => string,
  other: (chance: Chance, depth: number) => string,
): string {
  return chance.happens(rarely) ? other(chance, 2) : usual(chance);
}

function times<T>(chance: Chance, max: number, draw: () => T): T[] {
  return Array.from({ length: chance.whole(0, max) }, draw);
}

function shuffled<T>(chance: Chance, list: readonly T[]): T[] {
  const left = [...list];
  return Array.from(list, () => left.splice(chance.whole(0, left.length - 1), 1)[0] as T);
}
