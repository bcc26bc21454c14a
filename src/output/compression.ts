/**
 * Compression of a file with the gzip and zstd streams of `node:zlib`. The streams run on separate threads, in parallel with the reading of
 * messages.
 */
import type { Transform } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';

export type Compression =
  | { readonly kind: 'none' }
  /** Compression by gzip. Level 1 is the fastest, and level 9 gives the smallest files. */
  | { readonly kind: 'gzip'; readonly level: number }
  /** Compression by zstd with a level from 1 to 19. */
  | { readonly kind: 'zstd'; readonly level: number };

/** Size of the compressed chunks in bytes. With the default of 16 KB, frequent switches between threads would slow the compression down. */
const chunkSize = 256 * 1024;
/** Each write to the stream completes only when the stream has consumed the data. The memory of the data can then be reused. */
const writableHighWaterMark = 1;

/** Returns a stream that compresses the bytes of one file, or undefined if the file is not compressed. */
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
