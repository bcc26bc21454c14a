/**
 * Tests exports that are killed. An export to a directory is killed at every third step, and an export to an object
 * store only at the end of an upload.
 */
import { shareOf } from '../support/random-runs.ts';
import { testCrashes } from './crashes.ts';
import { boundaries } from './small-export.ts';
import { storeNames } from './stores.ts';

for (const kind of storeNames)
  testCrashes(kind, kind === 'volume' ? shareOf(boundaries, 3, 0) : ['written', 'finished']);
