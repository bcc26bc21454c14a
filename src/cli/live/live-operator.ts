/**
 * Runs the operator in this process with a live view. The view shows the status of a resource only after this process
 * has written or confirmed the status, because the stored status may be outdated.
 */
import { type AnyResource, type KindName, kindNames } from '../../api/kinds.ts';
import { aborted } from '../../base/aborted.ts';
import { systemClock } from '../../base/clock.ts';
import type { LogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import type { Host, ResourceKey } from '../../host/host.ts';
import type { CommandContext } from '../command/context.ts';
import type { LogOptions } from '../command/options.ts';
import { createLogger } from '../operator/logging.ts';
import { Operator, type OperatorOptions, serviceConnect } from '../operator/operator.ts';
import { LiveView, type LiveViewOptions } from './live-view.ts';
import { countingRequests } from './rates.ts';

export class LiveOperator {
  readonly clock = systemClock;
  readonly random = systemRandom;
  readonly log: Logger;
  /** Metrics of the operator. The live view also uses them to count requests to the log service. */
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
    // With `--log-format json`, progress is written as log messages, so that each line of the output is JSON.
    const output = isJson ? { ...stderr, write: (text: string) => this.log.info(text.trimEnd()) } : stderr;
    this.#view = new LiveView({ output, clock: systemClock, flagsOf, resumeAll });
    this.metrics = countingRequests(metrics, () => this.#view.request());
  }

  /**
   * Runs the operator until nothing is left to do or, if `isEndless` is true, until it receives a signal. Resolves when
   * no request is in flight.
   * @param lost resolves with an error if the operator must end; this function then rejects with the error
   */
  async run(
    host: Host,
    options: Pick<OperatorOptions, 'settings' | 'exports' | 'limits' | 'onlyUser'>,
    isEndless = false,
    lost?: Promise<LogfleetError>,
  ): Promise<void> {
    const { env, signal } = this.#context;
    const { clock, random, log, metrics } = this;
    const shown = showHost(this.#view, host);
    const connect = serviceConnect(metrics, log, env);
    const operator = new Operator({ clock, random, log, metrics, host: shown.host, connect, ...options });
    operator.start();
    const finished = operator.whenFinished().then(() => shown.finished());
    const error = await Promise.race([aborted(signal), ...(isEndless ? [] : [finished]), ...(lost ? [lost] : [])]);
    await operator.stop();
    if (error) throw error;
  }

  close(): void {
    this.#view.end();
  }
}

interface ShownHost {
  /**
   * Host through which the operator accesses the resources. Each change that the operator makes also updates the live
   * view.
   */
  readonly host: Host;
  /**
   * Shows the stored status of every resource. Call this function only after all work has ended, because a stored
   * status may be outdated until then.
   */
  finished(): void;
}

export function showHost(view: LiveView, host: Host): ShownHost {
  /** Uids of the resources whose status is up to date, because this process has written or confirmed it. */
  const known = new Set<string>();
  const show = (kind: KindName, key: ResourceKey) => {
    const resource = host.resources(kind).get(key);
    if (!resource) return view.gone({ kind, ...key });
    const { status: _, ...unknown } = resource;
    view.show(known.has(resource.metadata.uid) ? resource : (unknown as AnyResource));
  };
  const showKnown = (kind: KindName, { metadata }: AnyResource) => {
    known.add(metadata.uid);
    show(kind, metadata);
  };
  for (const kind of kindNames) {
    for (const { metadata } of host.resources(kind).list()) show(kind, metadata);
    host.resources(kind).subscribe((key) => show(kind, key));
  }
  return {
    finished: () => {
      for (const kind of kindNames) for (const resource of host.resources(kind).list()) showKnown(kind, resource);
    },
    host: {
      resources: (kind) => host.resources(kind),
      writeStatus: (kind, resource) => {
        known.add(resource.metadata.uid);
        return host.writeStatus(kind, resource);
      },
      confirmStatus: (kind, resource) => {
        if (!known.has(resource.metadata.uid)) showKnown(kind, resource);
      },
      create: (resource) => host.create(resource),
      canRemove: (resource) => host.canRemove(resource),
      remove: (resource) => host.remove(resource),
      commandFlags: (resource) => host.commandFlags(resource),
      isCluster: host.isCluster,
      settings: () => host.settings(),
      subscribeSettings: (listener) => host.subscribeSettings(listener),
      ledgers: host.ledgers,
      secrets: host.secrets,
      leadership: host.leadership,
      events: {
        publish: (owner, event) => {
          host.events.publish(owner, event);
          view.event(owner, event);
        },
      },
    },
  };
}
