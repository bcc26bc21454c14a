/**
 * Compresses data files with gzip or zstd on separate threads.
 *
 * With gzip, two chunks of a file are compressed in parallel. As a result, the file is about 1 % larger, but it is
 * still a standard gzip file.
 */
import { promisify } from 'node:util';
import { constants, crc32, createZstdCompress, deflateRaw, type ZstdCompress } from 'node:zlib';

export type Compression =
  | { readonly kind: 'none' }
  /** gzip compression with a level from 1 (fastest) to 9 (smallest files). */
  | { readonly kind: 'gzip'; readonly level: number }
  /** zstd compression with a level from 1 to 19. */
  | { readonly kind: 'zstd'; readonly level: number };

/**
 * Compresses the chunks of one file. The compressed file consists of the results of all calls to `pack`, followed by
 * the result of `end`.
 */
export interface Packer {
  /** Maximum number of parallel calls to `pack`. */
  readonly parallel: number;
  /** Compresses a chunk. The caller must not change the chunk until the promise settles. */
  pack(chunk: Uint8Array): Promise<readonly Uint8Array[]>;
  end(): Promise<readonly Uint8Array[]>;
  /** Releases the memory used for compression. */
  close(): void;
}

export function packerOf(compression: Compression): Packer {
  switch (compression.kind) {
    case 'none':
      return unpacked;
    case 'gzip':
      return new ParallelGzip(compression.level);
    case 'zstd':
      return new ZstdStream(compression.level);
  }
}

const unpacked: Packer = {
  parallel: 1,
  pack: async (chunk) => [chunk],
  end: async () => [],
  close: () => {},
};

/** Lowest zstd level at which memory must be limited. Lower levels take at most 9 MiB per file even without a limit. */
const limitedLevel = 9;
/**
 * Base-2 logarithms of table sizes that limit a zstd stream to 8 MiB of memory. Without these limits, level 9 uses 16
 * MiB and level 19 uses 89 MiB. With the limits, compression is faster, and compressed web server logs are at most 2 %
 * larger.
 */
const tableLimits = {
  [constants.ZSTD_c_windowLog]: 21,
  [constants.ZSTD_c_hashLog]: 19,
  [constants.ZSTD_c_chainLog]: 19,
};

class ZstdStream implements Packer {
  readonly parallel = 1;
  readonly #stream: ZstdCompress;
  #packed: Uint8Array[] = [];

  constructor(level: number) {
    const params = {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_checksumFlag]: 1,
      ...(level >= limitedLevel ? tableLimits : {}),
    };
    this.#stream = createZstdCompress({ params, chunkSize: 256 * 1024 });
    this.#stream.on('data', (bytes: Uint8Array) => this.#packed.push(bytes)).on('error', () => {});
  }

  pack(chunk: Uint8Array): Promise<readonly Uint8Array[]> {
    return this.#packedAfter((done) => this.#stream.write(chunk, done));
  }

  end(): Promise<readonly Uint8Array[]> {
    return this.#packedAfter((done) => this.#stream.on('end', done).end());
  }

  close(): void {
    this.#stream.destroy();
  }

  async #packedAfter(act: (done: (error?: Error | null) => void) => void): Promise<readonly Uint8Array[]> {
    await new Promise<void>((resolve, reject) => act((error) => (error ? reject(error) : resolve())));
    const packed = this.#packed;
    this.#packed = [];
    return packed;
  }
}

/** Header of a gzip file. It contains no file name and no time, so identical rows always produce identical files. */
const gzipHeader = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
/** Empty deflate block that is marked as the last block. */
const lastBlock = Uint8Array.of(3, 0);
const gzipTrailerBytes = 8;

class ParallelGzip implements Packer {
  readonly parallel = 2;
  readonly #level: number;
  #chunks = 0;
  #crc = 0;
  #bytes = 0;

  constructor(level: number) {
    this.#level = level;
  }

  async pack(chunk: Uint8Array): Promise<readonly Uint8Array[]> {
    const head = this.#chunks++ === 0 ? [gzipHeader] : [];
    const packed = deflate(chunk, this.#level);
    this.#crc = crc32(chunk, this.#crc);
    this.#bytes += chunk.length;
    return [...head, ...(await packed)];
  }

  async end(): Promise<readonly Uint8Array[]> {
    const trailer = Buffer.alloc(gzipTrailerBytes);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#bytes % 2 ** 32, 4);
    return [...(this.#chunks === 0 ? [gzipHeader] : []), lastBlock, trailer];
  }

  close(): void {}
}

const deflateAll = promisify(deflateRaw);

/** Compresses a chunk independently of the other chunks. */
async function deflate(chunk: Uint8Array, level: number): Promise<readonly Uint8Array[]> {
  const finishFlush = constants.Z_FULL_FLUSH;
  return [withoutRepeatedMarkers(await deflateAll(chunk, { level, memLevel: 9, chunkSize: 128 * 1024, finishFlush }))];
}

/** Last bytes of a chunk that ends with two flush markers (empty deflate blocks). */
const repeatedMarker = Buffer.of(0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0xff);
const markerBytes = 5;

/** Removes repeated flush markers that zlib may write, so that identical rows always produce identical files. */
function withoutRepeatedMarkers(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (bytes.subarray(0, end).subarray(-repeatedMarker.length).equals(repeatedMarker)) end -= markerBytes;
  return bytes.subarray(0, end);
}
