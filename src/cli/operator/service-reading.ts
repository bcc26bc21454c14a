/** Code shared by `plan` and `fleet`, which only read from the log service. */
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { noMetrics } from '../../base/metrics.ts';
import type { Ports } from '../../base/ports.ts';
import { systemRandom } from '../../base/random.ts';
import type { Connect } from '../../service/connect.ts';
import type { CommandContext } from '../command/context.ts';
import { serviceConnect } from './operator.ts';

export interface ServiceReading extends Pick<Ports, 'clock' | 'random'> {
  readonly connect: Connect;
}

/** Maximum time in ms for which failing requests to the log service are retried. */
export const maxFailureMs = 30_000;
/** Default value of `--timeout`, in ms. */
export const defaultTimeoutMs = 10 * 60_000;

/** Returns the system's clock and random numbers, and a function that connects to the service over TLS. */
export function readOverTls({ env }: CommandContext): ServiceReading {
  return { clock: systemClock, random: systemRandom, connect: serviceConnect(noMetrics, silentLogger, env) };
}
