/**
 * Loaded before logfleet (`node --import`): kills the process with SIGKILL where `LOGFLEET_TEST_KILL_AT` says. Nothing gets to
 * tidy up.
 *
 * `NAME:PHASE:N` is the N-th time that an effect of this name comes to this phase. Several, with `>` between, come one after
 * the other: each is counted from the one before on, and the last one kills.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { BoundaryMessage } from '../../../src/base/boundary.ts';

const places = (process.env['LOGFLEET_TEST_KILL_AT'] ?? '').split('>').map((text) => {
  const [name, phase, count] = text.split(':');
  return { name, phase, count: Number(count) };
});
let passed = 0;

subscribe('logfleet:boundary', (message) => {
  const { name, phase } = message as BoundaryMessage;
  const place = places[0];
  if (!place || name !== place.name || phase !== place.phase) return;
  passed++;
  if (passed < place.count) return;
  passed = 0;
  places.shift();
  if (places.length === 0) process.kill(process.pid, 'SIGKILL');
});
