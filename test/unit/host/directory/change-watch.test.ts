/** Tests when a directory is read again. */
import { once } from 'node:events';
import { mkdirSync, watch } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { ChangeWatch } from '../../../../src/host/directory/change-watch.ts';
import { Workplace } from '../../../support/workplace.ts';

test('a folder whose files never stop changing is read at the polling interval', async () => {
  const place = new Workplace();
  const { clock, directory } = place;
  const readAtMs: number[] = [];
  const startMs = clock.monotonic();
  const changes = new ChangeWatch({ clock, onChange: async () => void readAtMs.push(clock.monotonic() - startMs) });
  changes.follow([directory]);
  const events = watch(directory);
  onTestFinished(() => {
    changes.close();
    events.close();
  });
  for (let count = 0; clock.monotonic() - startMs < 25_000; count++) {
    const changed = once(events, 'change');
    place.writeNow('part.ndjson', String(count));
    await changed;
    await clock.advance(40);
  }
  expect(readAtMs).toEqual([10_000, 20_000]);
});

test('a change during a reading causes another reading immediately', async () => {
  const { clock, directory } = new Workplace();
  mkdirSync(`${directory}/inner`);
  const readAtMs: number[] = [];
  const startMs = clock.monotonic();
  const onChange = async () => {
    readAtMs.push(clock.monotonic() - startMs);
    changes.follow([directory, `${directory}/inner`]);
  };
  const changes = new ChangeWatch({ clock, onChange });
  onTestFinished(() => changes.close());
  changes.follow([directory]);
  await clock.advance(1_000);
  expect(readAtMs).toEqual([50, 100]);
});
