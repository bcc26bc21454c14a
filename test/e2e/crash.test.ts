/** Kills the operator at each step of an upgrade, and loses each kind of answer of the service (U15). */
import { vi } from 'vitest';
import { failingUpgrades, laggingList, none, testCrashes, testLosses } from './support/crashes.ts';

vi.setConfig({ maxConcurrency: 100 });

testCrashes([
  [
    none,
    [
      'service.listBuilds:after:1',
      'service.listCollectors:before:1',
      'service.listCollectors:after:1',
      'ledger.write:before:1',
    ],
  ],
  [laggingList, ['service.createTask:after:1', 'service.createTask:before:1', 'ledger.write:after:1']],
  [failingUpgrades, ['service.getTask:before:1', 'service.getTask:after:1']],
  [none, ['status.write:before:2', 'service.createTask:after:1>status.write:after:1']],
  [none, ['service.createTask:after:5>service.getTask:after:1>ledger.write:after:1']],
]);

testLosses([
  [failingUpgrades, { kind: 'reset', effect: true }],
  [laggingList, { kind: 'reset', effect: false }],
  [none, { kind: 'stall', effect: true }],
  [none, { kind: 'status', status: 500, effect: true }],
  [none, { kind: 'truncate' }],
]);
