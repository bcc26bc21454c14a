/**
 * Runs 50 failovers between two operator replicas, in five concurrent tests. In some failovers, the connection stalls
 * (L1, B1, B6).
 */
import { vi } from 'vitest';
import { testFailovers } from '../e2e/support/failovers.ts';

vi.setConfig({ maxConcurrency: 5, testTimeout: 1_800_000 });

testFailovers({ worlds: 5, rounds: 10 });
