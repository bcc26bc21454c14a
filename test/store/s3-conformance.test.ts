/** Runs the export destination test suite against a real S3 gateway. */
import { describe } from 'vitest';
import { describeDestination } from './conformance.ts';
import { stores } from './stores.ts';

describe('a real S3 gateway', () => describeDestination(stores.s3));
