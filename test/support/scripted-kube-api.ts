/**
 * Connection to an API server that gives prepared answers, and records its requests. Most tests use `MemoryApiServer`
 * instead, which behaves as a real API server.
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
  readonly #answers: Partial<KubeResponse>[];
  #send: ((line: string) => void) | undefined;

  /** Gives the `answers` in order, and repeats the last one. */
  constructor(...answers: Partial<KubeResponse>[]) {
    this.#answers = answers;
  }

  async request({ signal: _, ...request }: KubeRequest): Promise<KubeResponse> {
    this.requests.push(request);
    const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
    return { status: 200, headers: {}, body: {}, ...answer };
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

  /** Sends an event to the latest watch. */
  send(event: object): void {
    this.#send?.(JSON.stringify(event));
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}
