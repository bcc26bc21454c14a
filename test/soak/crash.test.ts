/** Kills the operator during upgrades, and drops responses from the service, in more combinations than `make test`. */
import { vi } from 'vitest';
import { failingUpgrades, laggingList, none, testCrashes, testLosses } from '../e2e/support/crashes.ts';

vi.setConfig({ maxConcurrency: 100 });

testCrashes([
  [none, ['service.listBuilds:after:1', 'service.listCollectors:before:1', 'service.listCollectors:after:1']],
  [failingUpgrades, ['service.createTask:before:2']],
  [failingUpgrades, ['service.createTask:after:3']],
  [failingUpgrades, ['ledger.write:after:1', 'service.createTask:after:2']],
  [laggingList, ['ledger.write:after:1']],
  [laggingList, ['service.createTask:before:2']],
  [laggingList, ['service.createTask:after:2']],
  [none, ['ledger.write:before:1', 'status.write:before:2']],
  [none, ['ledger.write:after:1']],
  [none, ['service.createTask:before:1']],
  [none, ['service.createTask:before:4']],
  [none, ['service.createTask:after:1']],
  [none, ['service.createTask:after:1>ledger.write:before:1']],
  [none, ['service.createTask:after:1>ledger.write:after:1']],
  [none, ['service.createTask:after:5']],
  [none, ['service.createTask:after:5', 'service.listCollectors:before:1']],
  [none, ['service.createTask:after:5', 'service.listCollectors:after:1']],
  [none, ['service.createTask:after:1>status.write:after:1']],
  [failingUpgrades, ['service.getTask:before:1', 'service.getTask:after:1']],
  [failingUpgrades, ['service.getTask:after:1>ledger.write:before:1']],
]);

testLosses([
  [failingUpgrades, { kind: 'reset', effect: false }],
  [laggingList, { kind: 'reset', effect: false }],
  [laggingList, { kind: 'reset', effect: true }],
  [none, { kind: 'reset', effect: false }],
  [none, { kind: 'reset', effect: true }],
  [none, { kind: 'stall', effect: false }],
  [none, { kind: 'status', status: 500, effect: true }],
  [none, { kind: 'status', status: 503, effect: false }],
  [none, { kind: 'truncate' }],
]);
