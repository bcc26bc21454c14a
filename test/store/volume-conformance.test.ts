/** Holds a directory to what every destination promises. */
import { describe } from 'vitest';
import { describeDestination } from './conformance.ts';

describe('a directory', () => describeDestination('volume'));
