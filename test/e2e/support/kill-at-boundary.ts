/**
 * Module that kills its own process at a given step. `LOGFLEET_TEST_KILL_AT` lists steps in the form `NAME:PHASE:N`,
 * separated by `>`. The process passes the steps in order, and is killed at the last one. For example, the step
 * `ledger.write:before:2` is right before the second write to the ledger.
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
