import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { s3Errors } from '../../../src/destination/s3/s3-error.ts';
import { PartBuffers, partBytes } from '../../../src/destination/store/part-buffers.ts';
import { PartedUpload, type UploadRequests } from '../../../src/destination/store/parted-upload.ts';
import { Writer } from '../../../src/destination/store/writer.ts';

function start(changed: Partial<UploadRequests> = {}) {
  const calls: string[] = [];
  const requests: UploadRequests = {
    ...{ key: 'a', shown: 'a', maxParts: 10, isSequential: false },
    putWhole: async () => {},
    begin: async () => {},
    sendPart: async (number) => void calls.push(`part ${number}`),
    complete: async () => {},
    removeParts: async () => calls.push('removed parts'),
    hasMark: async () => false,
    mayExist: () => false,
    ...changed,
  };
  const writer = new Writer({ scope: 'test', pid: 1, processStart: '1' }, seededRandom(1));
  const remove = async () => void calls.push('removed object');
  const upload = new PartedUpload({ requests, remove, errors: s3Errors, buffers: new PartBuffers(), writer });
  return { upload, writer, calls };
}

test('an abandoned upload removes its parts only after its last request has ended', async () => {
  const part = Promise.withResolvers<void>();
  const { upload, calls } = start({
    sendPart: (_, __, stop) => {
      stop.addEventListener('abort', () => calls.push('stop'));
      return part.promise.finally(() => calls.push('sent'));
    },
  });
  await upload.write(new Uint8Array(partBytes + 1));
  const aborted = upload.abort();
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toEqual(['stop']);
  part.resolve();
  await aborted;
  expect(calls).toEqual(['stop', 'sent', 'removed parts']);
});

test('an upload sends more parts than can be sent at the same time', async () => {
  const { upload, calls } = start();
  await upload.write(new Uint8Array(5 * partBytes));
  await upload.finish();
  expect(calls).toEqual([1, 2, 3, 4, 5].map((number) => `part ${number}`));
});

test('an upload fails before it has more parts than the store allows', async () => {
  const { upload, calls } = start({ maxParts: 2 });
  const written = upload.write(new Uint8Array(3 * partBytes + 1));
  await expect(written).rejects.toMatchObject({ code: 'destination.invalid' });
  expect(calls).toEqual(['part 1', 'part 2']);
});

test('a finished upload is not removed by a later abort', async () => {
  const { upload, calls } = start({ hasMark: async () => true });
  await upload.write(new Uint8Array(1));
  await upload.finish();
  await upload.abort();
  expect(calls).toEqual([]);
});

test('an upload whose parts cannot be removed counts as left over', async () => {
  const { upload, writer } = start({ removeParts: () => Promise.reject(new Error('away')) });
  await upload.write(new Uint8Array(partBytes + 1));
  expect(await writer.stateOf('a')).toBe('unknown');
  await expect(upload.abort()).rejects.toMatchObject({ code: 'destination.away' });
  expect(await writer.stateOf('a')).toBe('ended');
});

test('a name does not count as taken while it is unknown whether this upload created the object', async () => {
  const taken = Object.assign(new Error('no'), { name: 'PreconditionFailed' });
  const { upload } = start({
    putWhole: () => Promise.reject(taken),
    mayExist: () => true,
    hasMark: () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNRESET' })),
  });
  await upload.write(new Uint8Array(1));
  await expect(upload.finish()).rejects.toMatchObject({ code: 'destination.away' });
});
