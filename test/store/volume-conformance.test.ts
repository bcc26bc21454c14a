/** Runs the export destination test suite with a directory. */
import { describe } from 'vitest';
import { describeDestination } from './conformance.ts';
import { stores } from './stores.ts';

describe('a directory', () => describeDestination(stores.volume));
