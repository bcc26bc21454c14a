/** Clock, random numbers, log and metrics. The operator's code receives them from its caller, so that tests can replace them. */
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
