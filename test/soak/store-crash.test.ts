/** Runs exports to S3, Azure and GCS, and kills the process at each step (E3, E15). */
import { testCrashes } from '../store/crashes.ts';
import { boundaries } from '../store/small-export.ts';

for (const kind of ['s3', 'azureBlob', 'gcs'] as const) testCrashes(kind, boundaries);
