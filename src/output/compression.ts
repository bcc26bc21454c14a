/**
 * Compression of a file with gzip and zstd, on separate threads in parallel with the reading of messages.
 *
 * The slow levels of gzip compress several chunks of a file at the same time, as pigz does: each chunk is compressed on its own, with the end
 * of the preceding chunk as its dictionary. The results form one gzip member, so every reader can read the file. Its bytes depend only on the
 * chunks.
 */
import type { Transform } from 'node:stream';
import { constants, crc32, createGzip, createZstdCompress, deflateRaw, type ZlibOptions } from 'node:zlib';

export type Compression =
  | { readonly kind: 'none' }
  /** Compression by gzip. Level 1 is the fastest, and level 9 gives the smallest files. */
  | { readonly kind: 'gzip'; readonly level: number }
  /** Compression by zstd with a level from 1 to 19. */
  | { readonly kind: 'zstd'; readonly level: number };

/** Compresses the chunks of one file. The bytes of the file are the results of all calls of `pack` and then `end`, in the order of the calls. */
export interface Packer {
  /** Maximum number of calls of `pack` at the same time. The memory of a chunk must not change before its call has ended. */
  readonly parallel: number;
  pack(chunk: Uint8Array): Promise<readonly Uint8Array[]>;
  end(): Promise<readonly Uint8Array[]>;
}

export function packerOf(compression: Compression): Packer {
  switch (compression.kind) {
    case 'none':
      return unpacked;
    case 'gzip': {
      const { level } = compression;
      if (level > mostFastLevel) return new ParallelGzip(level);
      return new StreamPacker(createGzip({ level, memLevel: 9, chunkSize: packedChunkBytes }));
    }
    case 'zstd': {
      const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag } = constants;
      const params = { [ZSTD_c_compressionLevel]: compression.level, [ZSTD_c_checksumFlag]: 1 };
      return new StreamPacker(createZstdCompress({ params, chunkSize: packedChunkBytes }));
    }
  }
}

/**
 * Highest level of gzip that is compressed as one stream. Up to this level, one thread compresses messages faster than another thread reads
 * them, and chunks would take up to 10 % more CPU time.
 */
const mostFastLevel = 3;

const unpacked: Packer = {
  parallel: 1,
  pack: async (chunk) => [chunk],
  end: async () => [],
};

/** Start of a gzip file: its magic number, the method deflate, no file name, no time, and an unknown operating system. */
const gzipHeader = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
/** Empty last block of the format deflate. */
const lastBlock = Uint8Array.of(3, 0);
const gzipTrailerBytes = 8;
/** Maximum distance in bytes between two equal texts that deflate can use. */
const windowBytes = 32 * 1024;
/** Size in bytes of a buffer for compressed data. A usual chunk of logs fills one buffer. */
const deflatedBytes = 96 * 1024;

/** Compresses chunks of a file at the same time (see the head of this file). */
class ParallelGzip implements Packer {
  /** Two chunks at a time keep two processors busy. Three would take 7 % more CPU time, because their memory exceeds the caches. */
  readonly parallel = 2;
  readonly #level: number;
  #crc = 0;
  #bytes = 0;
  /** Copy of the end of the latest chunk. The first `#windowBytes` bytes are valid. */
  readonly #window = Buffer.allocUnsafeSlow(windowBytes);
  #windowBytes = 0;

  constructor(level: number) {
    this.#level = level;
  }

  async pack(chunk: Uint8Array): Promise<readonly Uint8Array[]> {
    const head = this.#bytes === 0 ? [gzipHeader] : [];
    const dictionary = this.#windowBytes > 0 ? { dictionary: this.#window.subarray(0, this.#windowBytes) } : {};
    const options = { level: this.#level, memLevel: 9, chunkSize: deflatedBytes, ...dictionary };
    // The call copies the dictionary before it returns.
    const deflated = deflate(chunk, { ...options, finishFlush: constants.Z_SYNC_FLUSH });
    this.#crc = crc32(chunk, this.#crc);
    this.#bytes += chunk.length;
    const end = chunk.subarray(-windowBytes);
    this.#window.set(end);
    this.#windowBytes = end.length;
    return [...head, await deflated];
  }

  async end(): Promise<readonly Uint8Array[]> {
    const trailer = Buffer.alloc(gzipTrailerBytes);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#bytes % 2 ** 32, 4);
    return [...(this.#bytes === 0 ? [gzipHeader] : []), lastBlock, trailer];
  }
}

function deflate(chunk: Uint8Array, options: ZlibOptions): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    deflateRaw(chunk, options, (error, deflated) => (error ? reject(error) : resolve(deflated)));
  });
}

/** Size in bytes of the results of a stream. With the default of 16 KB, frequent switches between threads would slow the compression down. */
const packedChunkBytes = 256 * 1024;

/** Compresses a file with a stream of `node:zlib`. */
class StreamPacker implements Packer {
  readonly parallel = 1;
  readonly #stream: Transform;
  #packed: Uint8Array[] = [];

  constructor(stream: Transform) {
    this.#stream = stream;
    stream.on('data', (bytes: Uint8Array) => this.#packed.push(bytes)).on('error', () => {});
  }

  pack(chunk: Uint8Array): Promise<readonly Uint8Array[]> {
    return this.#packedAfter((done) => this.#stream.write(chunk, done));
  }

  end(): Promise<readonly Uint8Array[]> {
    return this.#packedAfter((done) => this.#stream.on('end', done).end());
  }

  async #packedAfter(act: (done: (error?: Error | null) => void) => void): Promise<readonly Uint8Array[]> {
    await new Promise<void>((resolve, reject) => act((error) => (error ? reject(error) : resolve())));
    const packed = this.#packed;
    this.#packed = [];
    return packed;
  }
}
