/** A thread that runs histories by their seeds, of the program as it is or of a mutant of it. */
import { registerHooks } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { Mutation } from './mutants.ts';

export interface WorkerData {
  readonly mutations: readonly Mutation[];
  /** What kind of histories the seeds stand for. */
  readonly directions: string | undefined;
}

export interface WorkerReply {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly digest: string;
}

const { mutations, directions } = workerData as WorkerData;

// Sources are changed on their way to the parser; a mutation that finds nothing to change is no mutant.
registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const own = mutations.filter(({ file }) => url.endsWith(`/src/${file}`));
    if (own.length === 0) return loaded;
    let source = String(
      loaded.source instanceof Uint8Array ? Buffer.from(loaded.source).toString('utf8') : loaded.source,
    );
    for (const { find, replace } of own) {
      if (source.split(find).length !== 2) throw new Error(`${url} does not have exactly once: ${find}`);
      source = source.replace(find, () => replace);
    }
    return { ...loaded, source };
  },
});

const { runHistory } = await import('./history.ts');
const { planHistory } = await import('./plan.ts');
const { directed } = await import('./directed-plans.ts');

parentPort?.on('message', (seed: number) => {
  const plan = directions === undefined ? planHistory(seed) : directed(directions, seed);
  runHistory(plan).then(
    ({ violations, digest }) => parentPort?.postMessage({ seed, violations, digest } satisfies WorkerReply),
    (error: unknown) => {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      parentPort?.postMessage({
        seed,
        violations: [`the history broke off: ${what}`],
        digest: '',
      } satisfies WorkerReply);
    },
  );
});
