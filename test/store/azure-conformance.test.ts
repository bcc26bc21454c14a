/** Runs the test suite of export destinations against Azurite, an emulator of Azure Blob Storage. */
import { describe } from 'vitest';
import { describeDestination } from './conformance.ts';
import { stores } from './stores.ts';

describe('Azurite', () => describeDestination(stores.azureBlob));
