/**
 * Which part of this process's work was the operator's, where service and API server run in it, too: a sampling profiler looks at
 * the stack every few milliseconds, and the innermost frame of the project decides. What belongs to nobody
 * (garbage collection) is shared out like the rest.
 */
import { type Profiler, Session } from 'node:inspector/promises';

const intervalMicros = 5_000;

/** Stacks through these are the surroundings' work, all else in the project's sources the operator's. */
const surroundings = ['/src/simulator/', '/test/', '/bench/'];

/** Runs `work`. The share is from 0 to 1; `cpuSeconds` is all of the process's processor time meanwhile. */
export async function withOperatorShare<T>(work: () => Promise<T>) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: intervalMicros });
  await session.post('Profiler.start');
  const before = process.cpuUsage();
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return { value, cpuSeconds: (user + system) / 1e6, operatorShare: shareOf(profile) };
}

type Side = 'operator' | 'surroundings' | undefined;

function shareOf({ nodes, samples = [] }: Profiler.Profile): number {
  const sides = new Map<number, Side>();
  const parents = new Map<number, number>();
  for (const { id, children = [] } of nodes) for (const child of children) parents.set(child, id);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const sideOf = (id: number | undefined): Side => {
    if (id === undefined) return undefined;
    if (!sides.has(id)) sides.set(id, sideOfUrl(byId.get(id)?.callFrame.url ?? '') ?? sideOf(parents.get(id)));
    return sides.get(id);
  };
  let operator = 0;
  let attributed = 0;
  for (const sample of samples) {
    const side = sideOf(sample);
    if (side === undefined) continue;
    attributed++;
    if (side === 'operator') operator++;
  }
  return attributed === 0 ? 0 : operator / attributed;
}

function sideOfUrl(url: string): Side {
  if (surroundings.some((folder) => url.includes(folder))) return 'surroundings';
  return url.includes('/src/') ? 'operator' : undefined;
}
