/**
 * Kills an export to a directory at each step, and exports to object stores before and after the end of an upload. `make soak` kills exports
 * to object stores at each step.
 */
import { testCrashes } from './crashes.ts';
import { boundaries } from './small-export.ts';
import { storeNames } from './stores.ts';

for (const kind of storeNames) testCrashes(kind, kind === 'volume' ? boundaries : ['written', 'finished']);
