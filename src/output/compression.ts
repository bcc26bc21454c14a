/**
 * Compression of a file: none, gzip or zstd, with the streams of `node:zlib`. These run on separate threads, in parallel with
 * reading.
 */
import type { Transform } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';

export type Compression =
  | { readonly kind: 'none' }
  /** Compression by gzip with a level: 1 is the fastest, 9 gives the smallest files. */
  | { readonly kind: 'gzip'; readonly level: number }
  /** Compression by zstd with a level from 1 to 19. */
  | { readonly kind: 'zstd'; readonly level: number };

/** Size of the output chunks in bytes. With the default of 16 KB, each chunk would cost a switch between threads. */
const chunkSize = 256 * 1024;
/** Each write completes only when its data is consumed, so that its memory can be reused. */
const writableHighWaterMark = 1;

/** Returns a stream for the bytes of one file, or undefined without compression. */
export function compressorOf(compression: Compression): Transform | undefined {
  switch (compression.kind) {
    case 'none':
      return undefined;
    case 'gzip': {
      const options = { level: compression.level, memLevel: 9, chunkSize, writableHighWaterMark };
      return createGzip(options);
    }
    case 'zstd': {
      const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag } = constants;
      const params = { [ZSTD_c_compressionLevel]: compression.level, [ZSTD_c_checksumFlag]: 1 };
      const options = { params, chunkSize, writableHighWaterMark };
      return createZstdCompress(options);
    }
  }
}
