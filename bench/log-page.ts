/**
 * Generates pages of messages in chunks. The messages compress like web server logs. As in real logs, some messages
 * contain characters beyond Latin-1.
 */
import { logDataOf } from '../simulator/search/log-source.ts';

const messagesOfPage = 10_000;
/**
 * Maximum size of a page of random messages, in bytes. A page contains fewer messages if it would otherwise exceed this
 * size.
 */
const pageBytes = 9_000_000;
const chunkBytes = 65_536;

/**
 * Kind of messages on a page. With `lines`, the page has log messages of this number of lines: a message of 1 line has
 * 0.9 KB, and one of 20 lines has 10 KB. With `madeUpBytes`, the page has random messages of this size in bytes.
 */
export type PageKind = { readonly lines: number } | { readonly madeUpBytes: number };

export class LogPage {
  readonly bytes: number;
  readonly #page: Buffer;

  constructor(kind: PageKind) {
    this.#page = 'lines' in kind ? webServerPage(kind.lines) : madeUpPage(kind.madeUpBytes);
    this.bytes = this.#page.length;
  }

  *chunks(): Generator<Buffer> {
    for (let at = 0; at < this.bytes; at += chunkBytes) yield this.#page.subarray(at, at + chunkBytes);
  }
}

function webServerPage(lines: number): Buffer {
  const maps = [...logMessages(Math.ceil(messagesOfPage / lines), lines)];
  const fields = Object.keys(maps[0] ?? {}).map((name) => ({ name, fieldType: 'string', keyField: false }));
  return Buffer.from(JSON.stringify({ fields, messages: maps.map((map) => ({ map })) }));
}

function madeUpPage(typicalBytes: number): Buffer {
  const fromMs = newestLogMs - 3_600_000;
  const logs = { messages: messagesOfPage, from: fromMs, to: newestLogMs, size: { typicalBytes } };
  const data = logDataOf(logs, { startMs: newestLogMs, seed: 1, fileData: undefined });
  const range = { fromMs, toMs: newestLogMs, byReceiptTime: false };
  const search = data.search(range, { reads: new Set(), matches: () => true });
  search.advance(fromMs, messagesOfPage);
  const messages = Buffer.concat([...search.page(0, messagesOfPage, pageBytes, true).pieces()]);
  const head = Buffer.from(`{"fields":${JSON.stringify(data.fields)},"messages":[`);
  return Buffer.concat([head, messages, Buffer.from(']}')]);
}

/** Yields `count` log messages, newest first. Two calls with the same arguments yield the same messages. */
export function* logMessages(count: number, linesOfMessage = 1): Generator<Readonly<Record<string, string>>> {
  const random = randomFrom(1);
  for (let index = 0; index < count; index++) yield message(index, linesOfMessage, random);
}

export const newestLogMs = 1_788_000_000_000;
export const oldestLogMs = (count: number): number => newestLogMs - 3 * (count + 1);

type RandomNumber = (below: number) => number;

/** Returns a random number generator (mulberry32) for the seed. */
function randomFrom(seed: number): RandomNumber {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function message(index: number, lines: number, random: RandomNumber): Readonly<Record<string, string>> {
  const host = random(100);
  const timeMs = newestLogMs - 3 * index - random(3);
  const raw = Array.from({ length: lines }, () => accessLine(timeMs, random)).join('\n');
  return {
    _blockid: String(-98_765_432_101 * (1 + (index >> 8))),
    _messagetime: String(timeMs),
    _raw: raw,
    _collectorId: String(100_000_001 + host),
    _sourceid: String(200_000_001 + host * 3),
    _collector: `web-${host}`,
    _messagecount: String(index),
    _sourceHost: `web-${host}.example.com`,
    _messageid: String(-9_007_199_254_740_993_000n - BigInt(index) * 1_000_003n - BigInt(random(1_000_000))),
    _sourceName: '/var/log/nginx/access.log',
    _size: String(raw.length),
    _receipttime: String(timeMs + 500 + random(900)),
    _sourceCategory: 'prod/web/nginx/access',
    _format: 't:cache:o:19:l:26:p:dd/MMM/yyyy:HH:mm:ss ZZZZ',
    _source: 'nginx access',
  };
}

const paths = ['items', 'orders', 'users', 'carts', 'sessions', 'search', 'images', 'prices'];
const systems = [
  'X11; Linux x86_64',
  'Windows NT 10.0; Win64; x64',
  'Macintosh; Intel Mac OS X 10_15_7',
  'Android 14; Mobile',
];

function accessLine(timeMs: number, random: RandomNumber): string {
  const hex = (digits: number) => Array.from({ length: digits }, () => random(16).toString(16)).join('');
  const any = (choices: readonly string[]) => choices[random(choices.length)];
  const agent = `Mozilla/5.0 (${any(systems)}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${100 + random(40)}.0 Safari/537.36`;
  const request = `GET /api/v1/${any(paths)}/${random(1_000_000)}?page=${random(50)}&session=${hex(16)} HTTP/1.1`;
  const address = `${10 + random(200)}.${random(256)}.${random(256)}.${random(256)}`;
  const time = new Date(timeMs).toISOString();
  const status = random(20) === 0 ? 404 + random(100) : 200;
  return `${address} - - [${time}] "${request}" ${status} ${random(99_999)} "https://example.com/${any(paths)}" "${agent}" upstream=10.0.${random(8)}.${random(256)}:8080 took=0.${random(1_000)} request=${hex(32)} forwarded=${address} tls=TLSv1.3 cipher=TLS_AES_256_GCM_SHA384 protocol=h2 keepalive=1 cache=${random(100) === 0 ? 'MISS → origin' : 'MISS'}`;
}
