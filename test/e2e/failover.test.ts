/** Tests one failover between two operator replicas. `make soak` runs 50 of them. */
import { testFailovers } from './support/failovers.ts';

testFailovers({ worlds: 1, rounds: 1 });
