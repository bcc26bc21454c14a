/**
 * Generates a page of messages of any size, in chunks like those that a connection delivers. The page repeats a few
 * thousand messages, so only these messages are in memory, not the whole page.
 */

/** Text of the generated messages: a line from a web server's log, a JSON event, or 256 KB of text. */
export type MessageKind = 'line' | 'event' | 'long';

export interface GeneratedPageSize {
  readonly messages: MessageKind;
  readonly pageBytes: number;
  readonly chunkBytes: number;
}

export class GeneratedPage {
  readonly bytes: number;
  readonly #chunkBytes: number;
  readonly #ringBytes: number;
  /**
   * Ring buffer with the repeated messages. The start of the buffer is copied to its end, so that each chunk is
   * contiguous.
   */
  readonly #ring: Buffer;
  readonly #rounds: number;
  readonly #start = Buffer.from('{"fields":[{"name":"_raw","fieldType":"string","keyField":false}],"messages":[');
  readonly #end: Buffer;

  constructor({ messages, pageBytes, chunkBytes }: GeneratedPageSize) {
    // Only a few messages are generated and then repeated, because more messages would increase the measured memory.
    const count = messages === 'long' ? 4 : 2_000;
    const texts = Array.from({ length: count }, (_, index) => `${JSON.stringify({ map: message(messages, index) })},`);
    const ring = Buffer.from(texts.join(''), 'latin1');
    this.#chunkBytes = chunkBytes;
    this.#ringBytes = ring.length;
    this.#ring = Buffer.concat([ring, ring.subarray(0, chunkBytes)]);
    this.#rounds = Math.ceil(pageBytes / ring.length);
    this.#end = Buffer.from(`${texts[0]?.slice(0, -1)}]}`, 'latin1');
    this.bytes = this.#start.length + this.#rounds * ring.length + this.#end.length;
  }

  *chunks(): Generator<Buffer> {
    yield this.#start;
    const total = this.#rounds * this.#ringBytes;
    for (let at = 0; at < total; at += this.#chunkBytes) {
      const from = at % this.#ringBytes;
      yield this.#ring.subarray(from, from + Math.min(this.#chunkBytes, total - at));
    }
    yield this.#end;
  }
}

function message(kind: MessageKind, index: number): Readonly<Record<string, string>> {
  const raw = rawText(kind, index);
  const timeMs = 1_788_000_000_000 - index;
  return {
    _blockid: String(-98_765_432_101 * index),
    _messagetime: String(timeMs),
    _raw: raw,
    _collectorId: String(100_000_001 + (index % 100)),
    _sourceid: String(200_000_001 + (index % 300)),
    _collector: `web-${index % 100}`,
    _messagecount: String(index),
    _sourceHost: `web-${index % 100}.example.com`,
    _messageid: String(-9_007_199_254_740_993_000n - BigInt(index)),
    _sourceName: '/var/log/nginx/access.log',
    _size: String(raw.length),
    _receipttime: String(timeMs + 800),
    _sourceCategory: 'prod/web/nginx/access',
    _format: 't:cache:o:19:l:26:p:dd/MMM/yyyy:HH:mm:ss ZZZZ',
    _source: 'nginx access',
  };
}

function rawText(kind: MessageKind, index: number): string {
  switch (kind) {
    case 'line':
      return accessLine(index);
    case 'event':
      return JSON.stringify({
        level: 'info',
        time: '2026-11-21T16:00:00.123Z',
        message: 'request served',
        request: { method: 'GET', path: `/api/v1/items/${index}`, status: 200, durationMs: 12.5 },
        user: { id: index, name: `user-${index}`, roles: ['reader', 'editor'] },
        trace: (index * 2_654_435_761).toString(16),
        tags: ['web', 'prod', 'eu'],
      });
    case 'long':
      return 'a long text without an end '.repeat(9_800).slice(0, 256_000);
  }
}

function accessLine(index: number): string {
  const agent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36';
  const rest = 'upstream=10.0.0.17:8080 cache=MISS '.repeat(1 + (index % 8));
  return `192.168.${index % 255}.${index % 77} - - [21/Nov/2026:16:00:${index % 60} +0000] "GET /api/v1/items/${index * 7919} HTTP/1.1" 200 ${(index * 31) % 99_999} "https://example.com/list?page=${index}" "${agent}" ${rest}`;
}
