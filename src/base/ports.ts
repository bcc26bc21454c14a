/** The clock, random numbers, log and metrics, all of which tests can replace. */
import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Random } from './random.ts';

export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}
