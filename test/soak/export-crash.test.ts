/** Kills an export once at each step, with a directory and with an object store as the destination (E3, E15). */
import { afterAll, vi } from 'vitest';
import { placeKinds, testExportCrashes } from '../e2e/support/export-crashes.ts';
import { stopStores } from '../e2e/support/exports.ts';

// Limits the number of concurrent tests, so that delayed requests do not exceed the request rate limit.
vi.setConfig({ maxConcurrency: 8 });

afterAll(() => stopStores());

for (const kind of placeKinds) {
  testExportCrashes(kind, [
    ['export.createJob:before:1'],
    ['export.createJob:after:1'],
    ['export.plan:before:1'],
    ['export.plan:after:1'],
    ['export.createJob:after:4', 'export.readPage:after:2'],
    ['export.readPage:before:2'],
    ['export.readPage:after:4'],
    ['aggregation.readRecords:before:1'],
    ['aggregation.readRecords:after:1'],
    ['export.stagePart:before:1', 'export.stagePart:after:2'],
    ['export.stagePart:after:1'],
    ['export.commit:before:1', 'export.commit:before:2'],
    ['export.commit:after:1', 'export.commit:after:2'],
    ['export.proof:before:1'],
    ['export.proof:after:1'],
    ['export.manifest:before:1'],
    ['export.manifest:after:1'],
  ]);
}
