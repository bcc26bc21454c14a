/** What a user would write: parse the page, write each message as a line, and let gzip or zstd have it. No counts, no checksum. */
import { once } from 'node:events';
import { PassThrough, type Transform } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import type { Compression } from '../../src/output/compression.ts';
import type { Way } from './encode-case.ts';

export const writePlainly: Way = async (pages, { compression }) => {
  const file = packer(compression);
  let bytes = 0;
  file.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  for (const page of pages) {
    const body = Buffer.concat([...page.chunks()]).toString('utf8');
    const { messages } = JSON.parse(body) as { messages: { map: unknown }[] };
    const lines = messages.map(({ map }) => `${JSON.stringify(map)}\n`);
    if (!file.write(lines.join(''))) await once(file, 'drain');
  }
  file.end();
  await once(file, 'end');
  return bytes;
};

function packer(compression: Compression): Transform {
  switch (compression.kind) {
    case 'none':
      return new PassThrough();
    case 'gzip':
      return createGzip({ level: compression.level });
    case 'zstd':
      return createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: compression.level } });
  }
}
