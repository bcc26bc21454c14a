/**
 * Tests exports that are killed. An export to a directory is killed at each of its steps. An export to an object store
 * is killed only at the end of an upload.
 */
import { testCrashes } from './crashes.ts';
import { boundaries } from './small-export.ts';
import { storeNames } from './stores.ts';

for (const kind of storeNames) testCrashes(kind, kind === 'volume' ? boundaries : ['written', 'finished']);
