/** Changes source files while they are being loaded, to build a mutant (the program with one rule broken). */
import { registerHooks } from 'node:module';

export interface Mutation {
  /** Path of the source file, relative to `src/`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/**
 * Applies the mutations to source files as they are loaded. Throws if a text to be replaced does not occur exactly
 * once.
 */
export function applyMutations(mutations: readonly Mutation[]): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const own = mutations.filter(({ file }) => url.endsWith(`/src/${file}`));
      if (own.length === 0) return loaded;
      let source = String(
        loaded.source instanceof Uint8Array ? Buffer.from(loaded.source).toString('utf8') : loaded.source,
      );
      for (const { find, replace } of own) {
        if (source.split(find).length !== 2) throw new Error(`${url} does not contain this text exactly once: ${find}`);
        source = source.replace(find, () => replace);
      }
      return { ...loaded, source };
    },
  });
}
