/** Tests one failover between two operator replicas. `make soak` runs 50 of them. */
import { vi } from 'vitest';
import { testFailovers } from './support/failovers.ts';

vi.setConfig({ testTimeout: 300_000 });

testFailovers({ worlds: 1, rounds: 1 });
