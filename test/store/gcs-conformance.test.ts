/** Runs the export destination test suite against fake-gcs-server, a Google Cloud Storage emulator. */
import { describe } from 'vitest';
import { describeDestination } from './conformance.ts';
import { stores } from './stores.ts';

describe('fake-gcs-server', () => describeDestination(stores.gcs));
