/** Runs exports with two workers. One worker is killed at a step of the export, and restarts (E3, E16). */
import { vi } from 'vitest';
import { testWorkerCrashes } from '../e2e/support/worker-crashes.ts';

vi.setConfig({ maxConcurrency: 8 });

testWorkerCrashes([
  [0, 'export.plan:before:1'],
  [0, 'export.plan:after:1'],
  [0, 'export.createJob:after:1'],
  [0, 'export.readPage:after:2'],
  [0, 'export.stagePart:after:1'],
  [0, 'export.commit:before:1'],
  [0, 'export.commit:after:1'],
  [0, 'export.proof:after:1'],
  [0, 'export.manifest:before:1'],
  [0, 'export.manifest:after:1'],
  [1, 'export.createJob:before:1'],
  [1, 'export.readPage:before:1'],
  [1, 'export.stagePart:after:1'],
  [1, 'export.commit:before:1'],
  [1, 'export.commit:after:1'],
]);
