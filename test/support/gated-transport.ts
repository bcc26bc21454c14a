/**
 * A simulated process's transport. The process can be frozen or killed, but requests that it has already sent still
 * take effect.
 */
import type { Clock } from '../../src/base/clock.ts';
import type { Transport, TransportRequest, TransportResponse } from '../../src/service/transport/transport.ts';
import { isDead, never, type ProcessGate } from './process-gate.ts';

export interface SentRequest {
  readonly atMs: number;
  readonly request: TransportRequest;
}

export interface TransportObserver {
  /** Called right before a request is sent. Killing the process at this point prevents the request. */
  sending(sent: SentRequest): void;
  /**
   * Called right after the process has sent a request. Killing the process at this point does not prevent the request.
   */
  sent(sent: SentRequest): void;
  answered?(sent: SentRequest, response: TransportResponse): void;
  /** Returns the request that is sent in place of `request`. */
  divert?(request: TransportRequest): TransportRequest;
}

export interface GatedTransportOptions {
  readonly inner: Transport;
  readonly gate: ProcessGate;
  readonly clock: Clock;
  readonly observer: TransportObserver;
}

export class GatedTransport implements Transport {
  readonly #options: GatedTransportOptions;

  constructor(options: GatedTransportOptions) {
    this.#options = options;
  }

  ready(origin: string, wanted: number, signal: AbortSignal): Promise<void> {
    return this.#options.inner.ready(origin, wanted, signal);
  }

  async probe(origin: string): Promise<void> {
    const { inner, gate } = this.#options;
    await inner.probe(origin);
    await new Promise<void>((resolve) => gate.deliver(resolve));
  }

  async send(wanted: TransportRequest): Promise<TransportResponse> {
    const { inner, gate, clock, observer } = this.#options;
    if (isDead(gate)) return never();
    const request = observer.divert?.(wanted) ?? wanted;
    let sent: SentRequest | undefined;
    const response = inner.send({
      ...request,
      beforeWrite: () => {
        const departure = request.beforeWrite();
        sent = { atMs: clock.monotonic(), request };
        observer.sending(sent);
        if (isDead(gate)) throw new Error('the process was killed');
        return departure;
      },
    });
    if (sent && !isDead(gate)) observer.sent(sent);
    return new Promise((resolve, reject) => {
      response.then(
        (response) =>
          gate.deliver(() => {
            if (sent) observer.answered?.(sent, response);
            resolve(response);
          }),
        (error: unknown) => gate.deliver(() => reject(error)),
      );
    });
  }

  drain(): Promise<void> {
    return this.#options.inner.drain();
  }

  close(): Promise<void> {
    return this.#options.inner.close();
  }
}
