/**
 * Kills the process with SIGKILL at the boundary in `LOGFLEET_TEST_KILL_AT`. Loaded before logfleet (`node --import`).
 *
 * `NAME:PHASE:N` is the N-th time that an effect of this name reaches this phase. Several boundaries, separated by `>`, follow each other:
 * each counts from the one before, and the last one kills.
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
