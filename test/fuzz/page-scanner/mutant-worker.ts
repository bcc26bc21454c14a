/**
 * Worker thread that tests one mutant. It replies with the seed of the first random page that detects the mutant, or
 * null if no page does.
 */
import { registerHooks } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { mutants, type ScannerMutant } from './mutants.ts';

export interface MutantTrial {
  readonly mutant: ScannerMutant;
  readonly cases: number;
}

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    const query = context.parentURL?.split('?')[1];
    return query && resolved.url.includes('/src/') ? { ...resolved, url: `${resolved.url}?${query}` } : resolved;
  },
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const [file, query] = url.split('?');
    const mutant = mutants.find(({ name }) => name === decodeURIComponent(query ?? ''));
    if (!mutant || !file?.endsWith(`/src/${mutant.file}`)) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString('utf8');
    if (source.split(mutant.find).length !== 2)
      throw new Error(`${file} does not contain this text exactly once: ${mutant.find}`);
    return { ...loaded, source: source.replace(mutant.find, () => mutant.replace) };
  },
});

async function tellingSeed({ mutant, cases }: MutantTrial): Promise<number | null> {
  const { runTrial }: typeof import('./trial.ts') = await import(`./trial.ts?${encodeURIComponent(mutant.name)}`);
  for (let seed = 1; seed <= cases; seed++) {
    if (runTrial(seed).violations.length > 0) return seed;
  }
  return null;
}

// Replies with the error if the mutated copy of the scanner cannot be built.
parentPort?.on('message', async (trial: MutantTrial) =>
  parentPort?.postMessage(await tellingSeed(trial).catch((error: unknown) => String(error))),
);
