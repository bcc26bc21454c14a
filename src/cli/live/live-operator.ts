/** Runs the operator in this process with a live view of its resources, for `logfleet run DIR` and `logfleet export`. */
import { aborted } from '../../base/aborted.ts';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import type { Host } from '../../host/host.ts';
import type { CommandContext } from '../context.ts';
import { createLogger } from '../logging.ts';
import { Operator, type OperatorOptions, serviceConnect } from '../operator.ts';
import type { LogOptions } from '../options.ts';
import { LiveView, type LiveViewOptions } from './live-view.ts';
import { countingRequests } from './rates.ts';
import { showHost } from './shown-host.ts';

export class LiveOperator {
  readonly clock = systemClock;
  readonly random = systemRandom;
  readonly log: Logger;
  /** Metrics of the operator. They also count the requests for the request rate in the live view. */
  readonly metrics: Metrics;
  readonly #view: LiveView;
  readonly #context: CommandContext;

  constructor(
    options: LogOptions,
    context: CommandContext,
    metrics: Metrics,
    { flagsOf, resumeAll }: Pick<LiveViewOptions, 'flagsOf' | 'resumeAll'>,
  ) {
    const { stderr } = context;
    this.#context = context;
    const isJson = options.logFormat === 'json' && !stderr.isTTY;
    this.log = createLogger(options, 'text', stderr, isJson ? stderr : { write: (line) => this.#view.print(line) });
    // With a JSON log, the progress is logged as well, so that each line of the output is JSON.
    const output = isJson ? { ...stderr, write: (text: string) => this.log.info(text.trimEnd()) } : stderr;
    this.#view = new LiveView({ output, clock: systemClock, flagsOf, resumeAll });
    this.metrics = countingRequests(metrics, () => this.#view.request());
  }

  /**
   * Runs the operator until nothing is left to do for any resource, or until a signal if `isEndless` is true. Then stops the operator, and
   * resolves when no request is in flight.
   */
  async run(
    host: Host,
    options: Pick<OperatorOptions, 'settings' | 'exports' | 'limits'>,
    isEndless = false,
  ): Promise<void> {
    const { env, signal } = this.#context;
    const { clock, random, log, metrics } = this;
    const shown = showHost(this.#view, host);
    const connect = serviceConnect(metrics, log, env);
    const operator = new Operator({ clock, random, log, metrics, host: shown.host, connect, ...options });
    operator.start();
    const settled = operator.whenSettled().then(() => shown.settled());
    await Promise.race([aborted(signal), ...(isEndless ? [] : [settled])]);
    await operator.stop();
  }

  close(): void {
    this.#view.end();
  }
}
