import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { s3Errors } from '../../../src/destination/s3/s3-error.ts';
import { PartBuffers, partBytes } from '../../../src/destination/store/part-buffers.ts';
import { PartedUpload, type UploadRequests } from '../../../src/destination/store/parted-upload.ts';
import { Writer } from '../../../src/destination/store/writer.ts';

test('an abandoned upload removes its parts only after its last request has ended', async () => {
  const calls: string[] = [];
  const part = Promise.withResolvers<void>();
  const requests: UploadRequests = {
    ...{ key: 'a', shown: 'a', maxParts: 2, isSequential: false },
    putWhole: async () => {},
    begin: async () => {},
    sendPart: (_, __, stop) => {
      stop.addEventListener('abort', () => calls.push('stop'));
      return part.promise.finally(() => calls.push('sent'));
    },
    complete: async () => {},
    removeParts: async () => calls.push('removed'),
    hasMark: async () => false,
    mayExist: () => false,
  };
  const writer = new Writer({ scope: 'test', pid: 1, processStart: '1' }, seededRandom(1));
  const around = { remove: async () => {}, errors: s3Errors, buffers: new PartBuffers(), writer };
  const upload = new PartedUpload({ requests, ...around });
  await upload.write(new Uint8Array(partBytes + 1));
  const aborted = upload.abort();
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toEqual(['stop']);
  part.resolve();
  await aborted;
  expect(calls).toEqual(['stop', 'sent', 'removed']);
});
