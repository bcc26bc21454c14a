/** Holds a real S3 gateway to what every destination promises. */
import { describe } from 'vitest';
import { describeDestination } from './conformance.ts';

describe('a real S3 gateway', () => describeDestination('s3'));
