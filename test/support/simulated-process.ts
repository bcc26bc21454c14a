/** A simulated operator process, which can be frozen or killed. Requests that it has already sent still take effect. */

import type { InProcessService } from '../../simulator/in-process.ts';
import type { Clock } from '../../src/base/clock.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { type Metrics, noMetrics } from '../../src/base/metrics.ts';
import type { Random } from '../../src/base/random.ts';
import { Operator, type OperatorOptions } from '../../src/cli/operator/operator.ts';
import type {
  KubeApi,
  KubeRequest,
  KubeResponse,
  WatchRequest,
  WatchResponse,
} from '../../src/host/kubernetes/kube-api.ts';
import { KubernetesHost } from '../../src/host/kubernetes/kubernetes-host.ts';
import type { PolicySettings } from '../../src/policy/attempts/settings.ts';
import type { decide } from '../../src/policy/decide.ts';
import { connectWith } from '../../src/service/connect.ts';
import type { TransportRequest, TransportResponse } from '../../src/service/transport/transport.ts';
import { GatedTransport, type SentRequest } from './gated-transport.ts';
import { InProcessTransport } from './in-process-transport.ts';
import type { MemoryApiClient, MemoryApiServer } from './memory-api-server.ts';
import { isDead, never, ProcessClock, ProcessGate } from './process-gate.ts';
import { serviceOrigin } from './service-world.ts';

/** Called when a simulated process sends a request or receives a response. */
export interface ProcessObserver {
  /** Called right before the request is sent. Killing the process at this point prevents the request. */
  sending(process: SimulatedProcess, request: Sending): void;
  /**
   * Called right after the process has sent a request. Killing the process at this point does not prevent the request.
   */
  sent(process: SimulatedProcess, request: Sending): void;
  answered(process: SimulatedProcess, request: Sending, response: TransportResponse): void;
  /** Returns the request that is sent in place of `request`. */
  divert(request: TransportRequest): TransportRequest;
}

const noObserver: ProcessObserver = { sending() {}, sent() {}, answered() {}, divert: (request) => request };

export type Sending =
  | ({ readonly to: 'service' } & SentRequest)
  | { readonly to: 'api'; readonly atMs: number; readonly request: KubeRequest };

export interface SimulatedProcessOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly api: MemoryApiServer;
  readonly service: InProcessService;
  readonly observer?: ProcessObserver;
  readonly settings?: Partial<PolicySettings>;
  /** Replaces the `decide` function for policies. */
  readonly decide?: typeof decide;
  readonly exports?: (gate: ProcessGate) => OperatorOptions['exports'];
  /** Host options. By default, all namespaces are watched, and no leader is elected. */
  readonly host?: HostOptions;
  /** Offset of the process's wall clock in ms. */
  readonly skewMs?: number;
  readonly log?: Logger;
  readonly metrics?: Metrics;
  /** Called when the process is killed or starts to stop. */
  readonly onEnd?: () => void;
}

export type HostOptions = Partial<
  Pick<
    ConstructorParameters<typeof KubernetesHost>[0],
    'leaderElection' | 'watchSeconds' | 'workerImage' | 'operatorNamespace' | 'onEvent'
  >
>;

export class SimulatedProcess {
  readonly name: string;
  readonly host: KubernetesHost;
  readonly #gate = new ProcessGate();
  readonly #client: MemoryApiClient;
  readonly #clock: Clock;
  readonly operator: Operator;
  readonly #onEnd: () => void;

  constructor(options: SimulatedProcessOptions) {
    const {
      name,
      api,
      random,
      observer = noObserver,
      log = silentLogger,
      metrics = noMetrics,
      onEnd = () => {},
    } = options;
    this.name = name;
    this.#onEnd = onEnd;
    this.#client = api.client(name, this.#gate);
    this.#clock = new ProcessClock(options.clock, this.#gate, options.skewMs);
    const surroundings = { clock: this.#clock, random, log, metrics };
    this.host = new KubernetesHost({
      ...surroundings,
      api: new ProcessApi(this, this.#client, this.#gate, observer, this.#clock),
      namespaces: 'all',
      operatorNamespace: 'logfleet-system',
      identity: name,
      leaderElection: false,
      ...options.host,
    });
    const { settings, decide } = options;
    const exports = options.exports?.(this.#gate);
    this.operator = new Operator({
      ...surroundings,
      host: this.host,
      ...(settings && { settings }),
      ...(decide && { decide }),
      ...(exports && { exports }),
      connect: this.#connect(options.service, observer, metrics),
    });
  }

  get running(): boolean {
    return this.#gate.state === 'running';
  }

  get wallMs(): number {
    return this.#clock.now();
  }

  start(): void {
    this.host.start();
    this.operator.start();
  }

  /** Returns a function that reports whether the operator has been idle at least once since this call. */
  watchEnd(): () => boolean {
    let hasEnded = false;
    void this.operator.whenFinished().then(() => {
      hasEnded = true;
    });
    return () => hasEnded;
  }

  kill(): void {
    this.#onEnd();
    this.#client.kill();
  }

  /** Freezes the process, as SIGSTOP does. */
  freeze(): void {
    this.#gate.freeze();
  }

  /** Resumes the frozen process, as SIGCONT does. */
  thaw(): void {
    this.#gate.thaw();
  }

  /** Stops the process, as SIGTERM does. */
  async stop(): Promise<void> {
    this.#onEnd();
    await this.operator.stop();
    await this.host.stop();
    this.kill();
  }

  #connect(service: InProcessService, observer: ProcessObserver, metrics: Metrics) {
    const clock = this.#clock;
    const transport = () =>
      new GatedTransport({
        inner: new InProcessTransport((origin) => (origin === serviceOrigin ? service : undefined), clock),
        gate: this.#gate,
        clock,
        observer: {
          sending: (sent) => observer.sending(this, { to: 'service', ...sent }),
          sent: (sent) => observer.sent(this, { to: 'service', ...sent }),
          answered: (sent, response) => observer.answered(this, { to: 'service', ...sent }, response),
          divert: (request) => observer.divert(request),
        },
      });
    return connectWith({ clock, metrics, userAgent: 'logfleet/test', transport });
  }
}

class ProcessApi implements KubeApi {
  readonly #process: SimulatedProcess;
  readonly #client: MemoryApiClient;
  readonly #gate: ProcessGate;
  readonly #observer: ProcessObserver;
  readonly #clock: Clock;

  constructor(
    process: SimulatedProcess,
    client: MemoryApiClient,
    gate: ProcessGate,
    observer: ProcessObserver,
    clock: Clock,
  ) {
    this.#process = process;
    this.#client = client;
    this.#gate = gate;
    this.#observer = observer;
    this.#clock = clock;
  }

  request(request: KubeRequest): Promise<KubeResponse> {
    if (this.#gate.state === 'dead') return never();
    const sending: Sending = { to: 'api', atMs: this.#clock.monotonic(), request };
    this.#observer.sending(this.#process, sending);
    if (isDead(this.#gate)) return never();
    const response = this.#client.request(request);
    this.#observer.sent(this.#process, sending);
    return isDead(this.#gate) ? never() : response;
  }

  watch(request: WatchRequest): Promise<WatchResponse> {
    return isDead(this.#gate) ? never() : this.#client.watch(request);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
