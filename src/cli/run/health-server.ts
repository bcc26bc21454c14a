/** HTTP server for the kubelet and Prometheus: `/healthz`, `/readyz` and `/metrics`. */

import type { ListenAddress } from '../../base/flag-values.ts';
import {
  type HttpResponse,
  type HttpServer,
  methodRefusal,
  startHttpServer,
  textResponse,
  writeResponse,
} from '../command/http-server.ts';

export interface HealthServerOptions {
  /** Address of the server. Port 0 means any free port. */
  readonly listen: ListenAddress;
  /**
   * Returns sentences about background loops that make no progress. If there are any, the health check fails, and the
   * kubelet restarts the container.
   */
  readonly unhealthy: () => readonly string[];
  /** Returns one sentence for each problem that prevents the operator from working. */
  readonly unready: () => readonly string[];
  readonly metrics: { readonly contentType: string; render(): Promise<string> };
}

/**
 * Starts the server, and resolves when it is listening. Throws the error `cli.listen` if the address cannot be used.
 */
export function startHealthServer(options: HealthServerOptions): Promise<HttpServer> {
  return startHttpServer(options.listen, 'free the port or choose another address', async (request, response) => {
    writeResponse(request, response, methodRefusal(request) ?? (await responseTo(options, request.url)));
  });
}

async function responseTo({ unhealthy, unready, metrics }: HealthServerOptions, url = '/'): Promise<HttpResponse> {
  switch (url.split('?', 1)[0]) {
    case '/healthz':
      return verdict('not healthy', unhealthy());
    case '/readyz':
      return verdict('not ready', unready());
    case '/metrics':
      return renderMetrics(metrics);
    default:
      return textResponse(404, 'known paths: /healthz, /readyz, /metrics');
  }
}

function verdict(what: string, reasons: readonly string[]): HttpResponse {
  if (reasons.length === 0) return textResponse(200, 'ok');
  return textResponse(503, reasons.map((reason) => `${what}: ${reason}`).join('\n'));
}

async function renderMetrics(metrics: HealthServerOptions['metrics']): Promise<HttpResponse> {
  try {
    return { status: 200, body: await metrics.render(), contentType: metrics.contentType };
  } catch {
    return textResponse(500, 'the metrics cannot be rendered');
  }
}
