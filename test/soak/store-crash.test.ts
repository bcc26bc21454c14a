/**
 * Runs exports to S3, Azure and GCS, kills the process at each step in turn, and checks the export afterwards (E3,
 * E15).
 */
import { testCrashes } from '../store/crashes.ts';
import { boundaries } from '../store/small-export.ts';

for (const kind of ['s3', 'azureBlob', 'gcs'] as const) testCrashes(kind, boundaries);
