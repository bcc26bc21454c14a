/** HTTP server for the kubelet and Prometheus: `/healthz`, `/readyz` and `/metrics`. */

import type { ListenAddress } from '../../base/flag-values.ts';
import {
  type Answer,
  type HttpServer,
  methodRefusal,
  startHttpServer,
  textAnswer,
  writeAnswer,
} from '../command/http-server.ts';

export interface HealthServerOptions {
  /** Address of the server. Port 0 means any free port. */
  readonly listen: ListenAddress;
  /**
   * Returns one sentence for each background loop that has stopped. If any loop has stopped, the health check fails,
   * and the kubelet restarts the container.
   */
  readonly unhealthy: () => readonly string[];
  /** Returns one sentence for each problem that prevents the operator's work. */
  readonly unready: () => readonly string[];
  readonly metrics: { readonly contentType: string; render(): Promise<string> };
}

/** Starts the server, and resolves when it listens. Throws `cli.listen` if the address cannot be used. */
export function startHealthServer(options: HealthServerOptions): Promise<HttpServer> {
  return startHttpServer(options.listen, 'free the port or choose another address', async (request, response) => {
    writeAnswer(request, response, methodRefusal(request) ?? (await answer(options, request.url)));
  });
}

async function answer({ unhealthy, unready, metrics }: HealthServerOptions, url = '/'): Promise<Answer> {
  switch (url.split('?', 1)[0]) {
    case '/healthz':
      return verdict('not healthy', unhealthy());
    case '/readyz':
      return verdict('not ready', unready());
    case '/metrics':
      return renderMetrics(metrics);
    default:
      return textAnswer(404, 'known paths: /healthz, /readyz, /metrics');
  }
}

function verdict(what: string, reasons: readonly string[]): Answer {
  if (reasons.length === 0) return textAnswer(200, 'ok');
  return textAnswer(503, reasons.map((reason) => `${what}: ${reason}`).join('\n'));
}

async function renderMetrics(metrics: HealthServerOptions['metrics']): Promise<Answer> {
  try {
    return { status: 200, body: await metrics.render(), contentType: metrics.contentType };
  } catch {
    return textAnswer(500, 'the metrics cannot be rendered');
  }
}
