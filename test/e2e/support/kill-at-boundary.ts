/**
 * Kills the process at the last step of a sequence. The variable `LOGFLEET_TEST_KILL_AT` lists the steps, separated by
 * `>`. The step `NAME:PHASE:N` is reached right `before` or `after` the N-th effect with this name, such as a request.
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
