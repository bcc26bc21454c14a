/**
 * What packs the bytes of a file: none, gzip or zstd, by the streams of `node:zlib`. These work on threads of their own, so that packing
 * goes on beside the reading.
 */
import type { Transform } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';

export type Compression =
  | { readonly kind: 'none' }
  /** 1 is fastest, 9 is smallest. */
  | { readonly kind: 'gzip'; readonly level: number }
  /** 1 to 19. */
  | { readonly kind: 'zstd'; readonly level: number };

/** What comes out is handed over in pieces of this size; with the usual 16 KB each piece is a way to the other thread and back. */
const chunkSize = 256 * 1024;
/** Whatever is written waits until it is used up, and its memory is free again. */
const writableHighWaterMark = 1;

/** A stream for the bytes of one file; undefined where they stay as they are. */
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
