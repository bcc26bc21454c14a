/** Runs the test suite of export destinations against fake-gcs-server, an emulator of Google Cloud Storage. */
import { describe } from 'vitest';
import { describeDestination } from './conformance.ts';
import { stores } from './stores.ts';

describe('fake-gcs-server', () => describeDestination(stores.gcs));
