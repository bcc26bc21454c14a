/** Runs the export destination test suite against Azurite, an Azure Blob Storage emulator. */
import { describe } from 'vitest';
import { describeDestination } from './conformance.ts';
import { stores } from './stores.ts';

describe('Azurite', () => describeDestination(stores.azureBlob));
