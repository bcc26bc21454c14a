/** Transport to a simulated service in the same process, without sockets. A response body arrives as one chunk. */
import { ConnectionReset, type InProcessResponse, type InProcessService } from '../../simulator/in-process.ts';
import type { Clock } from '../../src/base/clock.ts';
import type {
  BodyReceiver,
  ResponseHead,
  Transport,
  TransportRequest,
  TransportResponse,
} from '../../src/service/transport/transport.ts';
import { asTransportError, TransportError } from '../../src/service/transport/transport-failure.ts';

/** Returns the simulated service at an origin, or undefined if the host is unknown. */
export type ServiceDirectory = (origin: string) => InProcessService | undefined;

export class InProcessTransport implements Transport {
  readonly #serviceAt: ServiceDirectory;
  readonly #clock: Clock;
  readonly #inFlight = new Map<Promise<unknown>, AbortController>();
  #closed = false;

  constructor(serviceAt: ServiceDirectory, clock: Clock) {
    this.#serviceAt = serviceAt;
    this.#clock = clock;
  }

  async ready(origin: string): Promise<void> {
    this.#service(origin);
  }

  async probe(origin: string): Promise<void> {
    this.#service(origin);
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const controller = new AbortController();
    const onAbort = () => controller.abort(request.signal.reason);
    request.signal.addEventListener('abort', onAbort, { once: true });
    const sending = this.#send(request, controller.signal);
    this.#inFlight.set(sending, controller);
    try {
      return await sending;
    } finally {
      this.#inFlight.delete(sending);
      request.signal.removeEventListener('abort', onAbort);
    }
  }

  async drain(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#inFlight.keys());
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const controller of this.#inFlight.values()) controller.abort(closedError());
  }

  #service(origin: string): InProcessService {
    if (this.#closed) throw closedError();
    const service = this.#serviceAt(origin);
    if (!service) throw new TransportError('nameNotFound', `connecting to ${origin}: ENOTFOUND`);
    return service;
  }

  async #send(request: TransportRequest, signal: AbortSignal): Promise<TransportResponse> {
    const service = this.#service(request.origin);
    signal.throwIfAborted();
    request.beforeWrite();
    const { method, path, body } = request;
    const headers = { ...request.headers, host: new URL(request.origin).host };
    try {
      const response = await service.request({
        method,
        path,
        headers,
        signal,
        ...(body === undefined ? {} : { body }),
      });
      const head = this.#headOf(response);
      const bytes = Buffer.from(response.body, 'utf8');
      if (!request.receiver?.begin(head)) return { ...head, body: bytes };
      await give(bytes, request.receiver, signal);
      return { ...head, body: Buffer.alloc(0) };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ConnectionReset)) throw error;
      const { begun } = error;
      if (begun && request.receiver?.begin(this.#headOf(begun))) await give(begun.bytes, request.receiver, signal);
      throw asTransportError(error, 'waiting for the response');
    }
  }

  #headOf({ status, headers, cookies }: Pick<InProcessResponse, 'status' | 'headers' | 'cookies'>): ResponseHead {
    return {
      ...{ status, headers: new Map(Object.entries(headers)), setCookies: cookies },
      headAtMs: this.#clock.monotonic(),
    };
  }
}

/** Size of one TLS record in bytes. */
const pieceBytes = 16 * 1024;

async function give(body: Uint8Array, receiver: BodyReceiver, signal: AbortSignal): Promise<void> {
  for (let at = 0; at < body.length; at += pieceBytes) {
    signal.throwIfAborted();
    const drained = receiver.write(body.subarray(at, at + pieceBytes));
    if (drained) await drained;
  }
  signal.throwIfAborted();
}

function closedError(): TransportError {
  return new TransportError('closed', 'the client has been closed');
}
