/** Kills an export to each object store at each of its steps (E3, E15). */
import { testCrashes } from '../store/crashes.ts';
import { boundaries } from '../store/small-export.ts';

for (const kind of ['s3', 'azureBlob', 'gcs'] as const) testCrashes(kind, boundaries);
