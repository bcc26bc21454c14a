/**
 * Connection to an API server that returns prepared responses, and records its requests. Most tests use
 * `MemoryApiServer` instead, which behaves like a real API server.
 */
import type {
  KubeApi,
  KubeRequest,
  KubeResponse,
  WatchRequest,
  WatchResponse,
} from '../../src/host/kubernetes/kube-api.ts';

export class ScriptedKubeApi implements KubeApi {
  readonly requests: Omit<KubeRequest, 'signal'>[] = [];
  isClosed = false;
  readonly #responses: Partial<KubeResponse>[];
  #send: ((line: string) => void) | undefined;

  /** Returns the `responses` in order, and then repeats the last one. */
  constructor(...responses: Partial<KubeResponse>[]) {
    this.#responses = responses;
  }

  async request({ signal: _, ...request }: KubeRequest): Promise<KubeResponse> {
    this.requests.push(request);
    const response = this.#responses.length > 1 ? this.#responses.shift() : this.#responses[0];
    return { status: 200, headers: {}, body: {}, ...response };
  }

  async watch({ signal }: WatchRequest): Promise<WatchResponse> {
    const lines = new ReadableStream({
      start: (controller) => {
        this.#send = (line) => controller.enqueue(line);
        signal.addEventListener('abort', () => controller.error(signal.reason), { once: true });
      },
    });
    return { status: 200, headers: {}, body: undefined, lines };
  }

  /** Sends an event on the latest watch. */
  send(event: object): void {
    this.#send?.(JSON.stringify(event));
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}
