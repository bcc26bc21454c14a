/**
 * Loaded before logfleet (`node --import`): kills the process with SIGKILL where `LOGFLEET_TEST_KILL_AT` says,
 * `NAME:PHASE:N` being the N-th time that an effect of this name comes to this phase. Nothing gets to tidy up.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { BoundaryMessage } from '../../../src/base/boundary.ts';

const [name, phase, count] = (process.env['LOGFLEET_TEST_KILL_AT'] ?? '').split(':');
let left = Number(count);

subscribe('logfleet:boundary', (message) => {
  const boundary = message as BoundaryMessage;
  if (boundary.name !== name || boundary.phase !== phase) return;
  left--;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
});
