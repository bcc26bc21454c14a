/**
 * Templates for generated messages. All messages of a template have the same JSON, except for the digits in ids and
 * times.
 */
import { Buffer } from 'node:buffer';
import { seededRandom } from '../../../src/base/random.ts';
import { drawFor } from '../../base/chance.ts';
import { messageFields } from '../../query/message-fields.ts';
import { spelt } from '../field-case.ts';
import { blockIdDigits, blockIdStart, defaultFormat } from '../message-defaults.ts';
import { body } from './bodies.ts';
import { timeDigits } from './digits.ts';
import { type MadeUpSettings, smallestLargeBytes } from './made-up-settings.ts';
import { type Origin, originsOf } from './origins.ts';

/** Lower-case names of the fields whose values differ between messages of a template. */
export const varyingFields: ReadonlySet<string> = new Set(['_messageid', '_messagetime', '_receipttime', '_blockid']);
const idDigits = 18;

/**
 * JSON of a message template as bytes, `{"map":{…}},`. The numeric members are offsets in these bytes, at which each
 * message has its own digits.
 */
export interface Rendering {
  readonly bytes: Buffer;
  readonly idAt: number;
  readonly timeAt: number;
  readonly receiptAt: number;
  readonly blockAt: number;
}

export interface Template {
  /** Field values that all messages of the template share, by lower-case field name. */
  readonly fields: ReadonlyMap<string, string>;
  /** First characters of the ids of all messages of the template. */
  readonly idStart: string;
  readonly rawBytes: number;
  readonly whole: Rendering;
  readonly withoutRaw: Rendering;
}

/** Number of message templates with large texts. It is small, because large texts take most of the memory. */
const largeVariety = 24;

export class Templates {
  readonly #templates: readonly Template[];
  readonly #typical: number;

  constructor(settings: MadeUpSettings) {
    const origins = originsOf(settings.seed, settings.sources);
    const typical = Array.from({ length: settings.variety }, (_, index) => typicalTemplate(settings, origins, index));
    const large = settings.size.largeShare > 0 ? Array.from({ length: largeVariety }, (_, index) => index) : [];
    this.#typical = typical.length;
    this.#templates = [...typical, ...large.map((index) => largeTemplate(settings, origins, index))];
  }

  get count(): number {
    return this.#templates.length;
  }

  at(number: number): Template {
    return this.#templates[number] as Template;
  }

  /** Returns the index of a random message template. `draw` is a random number in [0, 1). */
  drawn(isLarge: boolean, draw: number): number {
    const large = this.count - this.#typical;
    return isLarge ? this.#typical + Math.floor(draw * large) : Math.floor(draw * this.#typical);
  }
}

function typicalTemplate(settings: MadeUpSettings, origins: readonly Origin[], index: number): Template {
  // The sizes of the templates' `_raw` vary from 0.2 to 1.8 times the typical size.
  const factor = 0.2 + 1.6 * drawFor(settings.seed, 'size', index);
  const bytes = (aroundBytes: number) => aroundBytes + (settings.size.typicalBytes - aroundBytes) * factor;
  return template(settings, origins, `typical ${index}`, bytes);
}

function largeTemplate(settings: MadeUpSettings, origins: readonly Origin[], index: number): Template {
  const { largestBytes } = settings.size;
  const bytes = smallestLargeBytes * (largestBytes / smallestLargeBytes) ** (index / (largeVariety - 1));
  return template(settings, origins, `large ${index}`, () => bytes, largestBytes);
}

/**
 * Creates a message template. `wanted` returns the required size of the template's JSON, in bytes. Its argument is the
 * size of the JSON without `_raw`, in bytes.
 */
function template(
  settings: MadeUpSettings,
  origins: readonly Origin[],
  name: string,
  wanted: (aroundBytes: number) => number,
  maxBytes = Number.POSITIVE_INFINITY,
): Template {
  const { seed, oddShare, loneSurrogateShare } = settings;
  const random = seededRandom(drawFor(seed, 'template', name) * 4_294_967_296);
  const origin = origins[Math.floor(random.next() * origins.length)] as Origin;
  const isOdd = random.next() < oddShare;
  const hasLoneSurrogate = random.next() < loneSurrogateShare;
  const escapesAll = random.next() < 0.3;
  const idStart = `${random.next() < 0.5 ? '-' : ''}${1 + Math.floor(random.next() * 8)}`;
  const count = Math.floor(random.next() * 100_000);
  const textSeed = random.next() * 4_294_967_296;
  const fieldsWith = (raw: string) => fieldsOf(origin, raw, count);
  const lengthWith = (raw: string) => rendering(fieldsWith(raw), idStart, settings, escapesAll, true).bytes.length;
  const text = (rawBytes: number) => body({ origin, isOdd, hasLoneSurrogate, bytes: rawBytes }, seededRandom(textSeed));
  const aroundBytes = lengthWith('');
  const wantedBytes = Math.min(wanted(aroundBytes), maxBytes);
  // Shortens the text, because JSON escapes some characters, which makes the JSON of a text longer than the text
  // itself.
  let rawBytes = wantedBytes - aroundBytes;
  rawBytes *= rawBytes / (lengthWith(text(rawBytes)) - aroundBytes);
  for (;;) {
    const result = rendered(fieldsWith(text(rawBytes)), idStart, settings, escapesAll);
    if (result.whole.bytes.length <= maxBytes) return result;
    rawBytes -= result.whole.bytes.length - maxBytes;
  }
}

function fieldsOf(origin: Origin, raw: string, count: number): ReadonlyMap<string, string> {
  return new Map([
    ['_sourceid', origin.sourceId],
    ['_sourcename', origin.sourceName],
    ['_sourcehost', origin.host],
    ['_sourcecategory', origin.category],
    // The service does not parse the timestamps of system messages, so these messages have no timestamp format.
    ['_format', origin.kind === 'system' ? '' : defaultFormat],
    ['_size', String(Buffer.byteLength(raw))],
    ['_messagecount', String(count)],
    ['_raw', raw],
    ['_source', origin.source],
    ['_collectorid', origin.collectorId],
    ['_collector', origin.collector],
  ]);
}

function rendered(
  fields: ReadonlyMap<string, string>,
  idStart: string,
  settings: MadeUpSettings,
  escapesAll: boolean,
): Template {
  const render = (withRaw: boolean) => rendering(fields, idStart, settings, escapesAll, withRaw);
  const rawBytes = Number(fields.get('_size'));
  return { fields, idStart, rawBytes, whole: render(true), withoutRaw: render(false) };
}

function rendering(
  fields: ReadonlyMap<string, string>,
  idStart: string,
  { fieldCase }: MadeUpSettings,
  escapesAll: boolean,
  withRaw: boolean,
): Rendering {
  const places = new Map<string, number>();
  let text = '{"map":{';
  const members = messageFields.filter(({ name }) => withRaw || name !== '_raw');
  for (const [index, { name }] of members.entries()) {
    const lower = name.toLowerCase();
    text += `${index > 0 ? ',' : ''}${JSON.stringify(spelt(name, fieldCase))}:`;
    if (varyingFields.has(lower)) {
      const { start, digits } = varyingForm(lower, idStart);
      text += `"${start}`;
      places.set(lower, Buffer.byteLength(text));
      text += `${'0'.repeat(digits)}"`;
    } else {
      const value = JSON.stringify(fields.get(lower));
      text += escapesAll ? escapedAll(value) : value;
    }
  }
  const place = (name: string) => places.get(name) ?? 0;
  return {
    bytes: Buffer.from(`${text}}},`),
    idAt: place('_messageid'),
    timeAt: place('_messagetime'),
    receiptAt: place('_receipttime'),
    blockAt: place('_blockid'),
  };
}

function varyingForm(name: string, idStart: string): { readonly start: string; readonly digits: number } {
  switch (name) {
    case '_messageid':
      return { start: idStart, digits: idDigits };
    case '_blockid':
      return { start: blockIdStart, digits: blockIdDigits };
    default:
      return { start: '', digits: timeDigits };
  }
}

/** Returns equivalent JSON in which as many characters as possible are escaped. */
function escapedAll(json: string): string {
  return json
    .replaceAll('/', '\\/')
    .replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
