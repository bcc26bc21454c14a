/**
 * A simple export script. It writes each message as a line, and compresses the output with gzip or zstd. It does not
 * check the rows, and does not handle limits or errors.
 */
import { once } from 'node:events';
import { PassThrough, type Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import type { Compression } from '../../src/output/compression.ts';

/** Writes all messages of a page to the file, and counts them. */
export class PlainExport {
  readonly #packer: Transform;
  readonly #written: Promise<void>;

  constructor(file: Writable, compression: Compression) {
    this.#packer = packerOf(compression);
    this.#written = pipeline(this.#packer, file);
  }

  async page(body: string): Promise<number> {
    const { messages } = JSON.parse(body) as { messages: { map: unknown }[] };
    const lines = messages.map(({ map }) => `${JSON.stringify(map)}\n`);
    if (!this.#packer.write(lines.join(''))) await once(this.#packer, 'drain');
    return messages.length;
  }

  async end(): Promise<void> {
    this.#packer.end();
    await this.#written;
  }
}

function packerOf(compression: Compression): Transform {
  switch (compression.kind) {
    case 'none':
      return new PassThrough();
    case 'gzip':
      return createGzip({ level: compression.level });
    case 'zstd':
      return createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: compression.level } });
  }
}
