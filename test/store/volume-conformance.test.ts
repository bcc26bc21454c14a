/** Runs the suite for destinations with a directory. */
import { describe } from 'vitest';
import { describeDestination } from './conformance.ts';

describe('a directory', () => describeDestination('volume'));
