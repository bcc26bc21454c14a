/** Kills the operator at different steps of an upgrade attempt, and drops responses from the service (U15). */
import { vi } from 'vitest';
import { failingUpgrades, laggingList, none, testCrashes, testLosses } from './support/crashes.ts';

vi.setConfig({ maxConcurrency: 100 });

testCrashes([
  [laggingList, ['service.createTask:after:1', 'service.createTask:before:1', 'ledger.write:after:1']],
  [failingUpgrades, ['service.getTask:after:1>ledger.write:after:1']],
]);

testLosses([
  [failingUpgrades, { kind: 'reset', effect: true }],
  [none, { kind: 'stall', effect: true }],
]);
