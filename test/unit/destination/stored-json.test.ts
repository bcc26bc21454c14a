/** Tests how JSON objects are stored at the destination of an export. */
import { expect, test } from 'vitest';
import { object, StoredKind, storedText } from '../../../src/destination/stored-json.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';

test('an object that is too large to be read back is not written', async () => {
  const destination = new MemoryDestination();
  const kind = new StoredKind({ kind: 'logfleet.dev/note', form: object({ note: storedText() }), maxBytes: 100 });
  const note = 'x'.repeat(100);
  await expect(kind.storeOnce(destination, 'note', { note })).rejects.toMatchObject({ code: 'destination.damaged' });
  expect(destination.objects.size).toBe(0);
  expect(await kind.storeOnce(destination, 'note', { note: 'x' })).toEqual({ note: 'x' });
});
