/** Runs exports to a directory, S3, Azure and GCS, and kills the process at each step (E3, E15). */
import { testCrashes } from '../store/crashes.ts';
import { boundaries } from '../store/small-export.ts';
import { storeNames } from '../store/stores.ts';

for (const kind of storeNames) testCrashes(kind, boundaries);
