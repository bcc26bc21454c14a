/**
 * Runs `logfleet run` in a process that also reports its requests, status writes and CPU profiles to its parent
 * process. Usage: `node observed-operator.ts SERVER run …`
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

/**
 * Messages from the parent process to the operator's process. The message `profile` starts a CPU profile, and
 * `profiled` ends the profile and writes it to `profileFile`.
 */
export type Question =
  | { readonly ask: 'figures' }
  | { readonly ask: 'written' }
  | { readonly ask: 'forget' }
  | { readonly ask: 'profile' }
  | { readonly ask: 'profiled'; readonly profileFile: string };

/**
 * The operator's requests and status writes since its process started, or since the process last received the message
 * `forget`.
 */
export interface RequestFigures {
  /** Requests to the API server by method and resource. Watches have the method `WATCH`. */
  readonly requests: Readonly<Record<string, number>>;
  /** Duration of each status write in milliseconds. */
  readonly statusWritesMs: readonly number[];
}

interface Sent {
  readonly origin: string;
  readonly method: string;
  readonly path: string;
}

const server = process.argv.splice(2, 1)[0];
const startedMs = new WeakMap<Sent, number>();
const requests = new Map<string, number>();
const written = new Set<string>();
let statusWritesMs: number[] = [];
const session = new Session();
session.connect();

subscribe('undici:request:create', (message) => {
  const { request } = message as { readonly request: Sent };
  if (request.origin !== server) return;
  startedMs.set(request, performance.now());
  const name = `${isWatch(request) ? 'WATCH' : request.method} ${resourceOf(request)}`;
  requests.set(name, (requests.get(name) ?? 0) + 1);
});

subscribe('undici:request:trailers', (message) => {
  const { request } = message as { readonly request: Sent };
  const startMs = startedMs.get(request);
  if (startMs === undefined || !resourceOf(request).endsWith('/status')) return;
  statusWritesMs.push(performance.now() - startMs);
  written.add(request.path.split('?')[0] ?? '');
});

function isWatch({ path }: Sent): boolean {
  return new URLSearchParams(path.split('?')[1]).has('watch');
}

/** Returns the resource of a request, such as `searchexports/status` or `secrets`. */
function resourceOf({ path }: Sent): string {
  const parts = (path.split('?')[0] ?? '').split('/').slice(path.startsWith('/api/') ? 3 : 4);
  const [plural = 'other', , subresource] = parts[0] === 'namespaces' ? parts.slice(2) : parts;
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}

process.on('message', async (question: Question) => {
  process.send?.(await respond(question));
});
process.channel?.unref();

async function respond(question: Question): Promise<RequestFigures | number | 'done'> {
  switch (question.ask) {
    case 'figures':
      return { requests: Object.fromEntries(requests), statusWritesMs };
    case 'written':
      return written.size;
    case 'forget':
      requests.clear();
      written.clear();
      statusWritesMs = [];
      return 'done';
    case 'profile':
      await session.post('Profiler.enable');
      await session.post('Profiler.start');
      return 'done';
    case 'profiled': {
      const { profile } = await session.post('Profiler.stop');
      writeFileSync(question.profileFile, JSON.stringify(profile));
      return 'done';
    }
  }
}

await import('../../src/main.ts');
